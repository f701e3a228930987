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
  upstream: Upstream,
  log: Log,
  changed: () => void,
): (meta: Meta | undefined) => Promise<ListToolsResult> {
  /** By what was asked to be seen: a narrower list and a wider one never stand for each other. */
  const former = new Map<string, ListToolsResult>()
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
  return async (meta) => {
    try {
      return await list(meta, LIMITS.bridge_wait_ms)
    } catch (error) {
      const kept = former.get(viewKey(meta))
      if (kept !== undefined) {
        log.warn({ err: error }, 'the hub did not list its tools; the former list stands')
        return kept
      }
      // A client that was shown no tools asks again when it is told that they changed.
      list(meta, LIMITS.bridge_confirm_wait_ms).then(changed, (late: unknown) =>
        log.warn({ err: late }, 'the hub never listed its tools'),
      )
      throw error
    }
  }
}
