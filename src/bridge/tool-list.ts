/**
 * Lists the hub's tools, or the last known list if the hub is away; otherwise the client would believe that
 * there are none.
 */
import type { ListToolsResult } from '@modelcontextprotocol/server'
import { ownMeta, viewKey } from './own-meta.ts'
import type { Upstream } from './hub/upstream.ts'
import { LIMITS } from '../contracts/limits/limits.ts'
import type { Log } from '../ports/log.ts'

type Meta = Record<string, unknown>

/** Number of lists kept. A client requests few views, and most clients one. */
export const LISTS_KEPT_MAX = 16

export function createToolList(
  upstream: Pick<Upstream, 'request'>,
  log: Log,
  changed: () => void,
): (meta: Meta | undefined) => Promise<ListToolsResult> {
  /** Last lists by view, so that a narrower list never replaces a wider one. */
  const last_lists = new Map<string, ListToolsResult>()
  /** Views whose listing failed; the client is notified once they are available. */
  const pending = new Set<string>()
  const list = async (meta: Meta | undefined, wait_ms: number) => {
    const params = { _meta: ownMeta(meta) }
    const listed = await upstream.request('tools/list', params, { repeatable: true, wait_ms })
    const key = viewKey(meta)
    last_lists.delete(key)
    last_lists.set(key, listed as ListToolsResult)
    const oldest = last_lists.keys().next().value
    if (last_lists.size > LISTS_KEPT_MAX && oldest !== undefined) last_lists.delete(oldest)
    return listed as ListToolsResult
  }
  /** Notifies the client once the tools can be listed, so that it requests them again. */
  const notifyLater = async (meta: Meta | undefined, key: string) => {
    if (pending.has(key)) return
    pending.add(key)
    try {
      await list(meta, LIMITS.bridge_confirm_wait_ms)
      changed()
    } catch (late) {
      log.warn({ err: late }, 'listing the tools failed again')
    } finally {
      pending.delete(key)
    }
  }
  return async (meta) => {
    try {
      return await list(meta, LIMITS.bridge_wait_ms)
    } catch (error) {
      const key = viewKey(meta)
      const kept = last_lists.get(key)
      if (kept !== undefined) {
        log.warn({ err: error }, 'listing the tools failed; the last list was returned')
        return kept
      }
      void notifyLater(meta, key)
      throw error
    }
  }
}
