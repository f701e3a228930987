/** Finds the id of a request of which only both ends are known, because the line was too long to keep. */
import type { RequestId } from '@modelcontextprotocol/server'
import { exactId } from '../../transports/mcp/exact-ids.ts'

const ID = String.raw`"id"\s*:\s*("(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*)`
const VERSION = String.raw`"jsonrpc"\s*:\s*"2\.0"`
const METHOD = String.raw`"method"\s*:\s*"[^"\\]*"`
/** Matches an id only at the top level: nothing nested may be between it and the outer brace. */
const AT_BEGIN = new RegExp(String.raw`^\s*\{\s*(?:(?:${VERSION}|${METHOD})\s*,\s*)*${ID}\s*,`)
const AT_END = new RegExp(String.raw`,\s*${ID}\s*(?:,\s*(?:${VERSION}|${METHOD})\s*)*\}\s*$`)

/** Returns null if neither end contains an id. */
export function truncatedRequestId(begin: string, end: string): RequestId | null {
  const source = AT_BEGIN.exec(begin)?.[1] ?? AT_END.exec(end)?.[1]
  if (source === undefined) return null
  try {
    const id = JSON.parse(source) as RequestId
    return typeof id === 'string' || Number.isSafeInteger(id) ? id : exactId(source)
  } catch {
    return null
  }
}
