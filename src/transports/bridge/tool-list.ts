/** Lists the hub's tools, or what they were a moment ago: better than a client that believes there are none. */
import type { ListToolsResult } from '@modelcontextprotocol/server'
import { ownMeta, viewKey } from './own-meta.ts'
import type { Upstream } from './upstream.ts'
import { LIMITS } from '../../contracts/limits.ts'
import type { Log } from '../../ports/log.ts'

type Meta = Record<string, unknown>

/** A client asks for few views, and most ask for one. */
export const LISTS_KEPT_MAX = 16

export function createToolList(
  upstream: Pick<Upstream, 'request'>,
  log: Log,
  changed: () => void,
): (meta: Meta | undefined) => Promise<ListToolsResult> {
  /** By what was asked to be seen: a narrower list and a wider one never stand for each other. */
  const former = new Map<string, ListToolsResult>()
  /** Views that a client was not shown, and is told of once it can be. */
  const awaited = new Set<string>()
  const list = async (meta: Meta | undefined, wait_ms: number) => {
    const params = { _meta: ownMeta(meta) }
    const listed = await upstream.request('tools/list', params, { repeatable: true, wait_ms })
    const key = viewKey(meta)
    former.delete(key)
    former.set(key, listed as ListToolsResult)
    const oldest = former.keys().next().value
    if (former.size > LISTS_KEPT_MAX && oldest !== undefined) former.delete(oldest)
    return listed as ListToolsResult
  }
  /** A client that was shown no tools asks again when it is told that they changed. */
  const tellLater = async (meta: Meta | undefined, key: string) => {
    if (awaited.has(key)) return
    awaited.add(key)
    try {
      await list(meta, LIMITS.bridge_confirm_wait_ms)
      changed()
    } catch (late) {
      log.warn({ err: late }, 'the hub never listed its tools')
    } finally {
      awaited.delete(key)
    }
  }
  return async (meta) => {
    try {
      return await list(meta, LIMITS.bridge_wait_ms)
    } catch (error) {
      const key = viewKey(meta)
      const kept = former.get(key)
      if (kept !== undefined) {
        log.warn({ err: error }, 'the hub did not list its tools; the former list stands')
        return kept
      }
      void tellLater(meta, key)
      throw error
    }
  }
}
