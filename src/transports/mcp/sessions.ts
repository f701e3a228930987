/**
 * MCP sessions of the 2025 era. A session is an id, its subscriptions and an optional open stream. It has no rights and no
 * durable state, so an unknown session (after a restart of the hub) is recreated for the caller that names it. Its former
 * subscriptions are unknown then; it is subscribed to the caller's own queue, because an extra notification costs one read,
 * and a missing one could hide a signal.
 */
import type { ServerResponse } from 'node:http'
import { eventOf } from './event-stream.ts'
import { pendingUri } from './resources.ts'
import { LIMITS } from '../../contracts/limits/limits.ts'
import type { Caller } from '../../contracts/token.ts'
import type { Clock, Timer } from '../../ports/clock.ts'
import type { Ids } from '../../ports/random.ts'
import type { Quotas } from '../quotas.ts'
import { whenClosed } from '../http/answered.ts'
import { becomesStream } from '../http/admission.ts'

export interface McpSession {
  id: string
  subscriptions: Set<string>
}

interface Row extends McpSession {
  owner: string
  stream: ServerResponse | null
  /** Resource that may have changed while the session was unknown; notified when a stream opens. */
  missed: string | null
}

export interface McpSessions {
  begin(caller: Caller): McpSession
  /** Returns null if the session was ended or belongs to another caller. */
  find(id: string, caller: Caller): McpSession | null
  end(id: string, caller: Caller): boolean
  /**
   * Makes the response the session's stream, after `begin` has written its head; a former stream is closed. Throws
   * `limit_reached` before anything is written.
   */
  open(session: McpSession, caller: Caller, response: ServerResponse, begin: () => void): void
  /** Sends the message to every session that `wants` it and has a stream. A stream whose reader is too slow is closed. */
  notify(message: object, wants: (session: McpSession) => boolean): void
  counts(): { sessions: number; streams: number }
  close(): void
}

interface SessionDeps {
  clock: Clock
  ids: Ids
  quotas: Quotas
}

const SESSION_ID_FORM = /^[\x21-\x7e]{1,128}$/

export function createMcpSessions({ clock, ids, quotas }: SessionDeps): McpSessions {
  const table = createSessionTable()
  let streams = 0
  const heartbeat: Timer = clock.every(LIMITS.sse_heartbeat_ms, () => {
    for (const { stream } of table.rows()) stream?.write(': \n\n')
  })

  return {
    begin: (caller) => table.add(ids.next(), ownerOf(caller)),
    find: (id, caller) => table.use(id, caller),
    end: (id, caller) => table.end(id, caller),
    open(session, caller, response, begin) {
      const row = table.get(session.id)
      if (row === undefined) return
      row.stream?.end()
      const leave = quotas.take(caller, 'mcp_stream')
      becomesStream(response)
      begin()
      row.stream = response
      if (row.missed !== null) response.write(eventOf(resourceUpdated(row.missed)))
      row.missed = null
      streams++
      whenClosed(response, () => {
        streams--
        leave()
        if (row.stream === response) row.stream = null
      })
    },
    notify(message, wants) {
      const frame = eventOf(message)
      for (const row of table.rows()) {
        if (row.stream === null || !wants(row)) continue
        if (row.stream.writableLength > LIMITS.ws_backlog_bytes_max) row.stream.destroy()
        else row.stream.write(frame)
      }
    },
    counts: () => ({ sessions: table.size(), streams }),
    close() {
      heartbeat.cancel()
      for (const row of [...table.rows()]) table.forget(row)
    },
  }
}

/** Bounded table of sessions, per caller and in total. */
function createSessionTable() {
  /** Ordered by last use. */
  const rows = new Map<string, Row>()
  const ended = new Set<string>()

  const forget = (row: Row) => {
    rows.delete(row.id)
    row.stream?.end()
  }
  /** Forgets the least recently used session without a stream, or the least recently used one if all have a stream. */
  const evictOneOf = (candidates: readonly Row[]) => {
    const unused = candidates.find((row) => row.stream === null) ?? candidates[0]
    if (unused !== undefined) forget(unused)
  }
  const add = (id: string, owner: string): Row => {
    const own = [...rows.values()].filter((row) => row.owner === owner)
    if (own.length >= LIMITS.caller_mcp_sessions_max) evictOneOf(own)
    else if (rows.size >= LIMITS.mcp_sessions_max) evictOneOf([...rows.values()])
    const row: Row = { id, owner, subscriptions: new Set(), stream: null, missed: null }
    rows.set(id, row)
    return row
  }
  const recreate = (id: string, caller: Caller): Row => {
    const row = add(id, ownerOf(caller))
    row.missed = pendingUri(caller.identity)
    row.subscriptions.add(row.missed)
    return row
  }

  return {
    rows: (): Iterable<Row> => rows.values(),
    size: () => rows.size,
    get: (id: string): Row | undefined => rows.get(id),
    add,
    forget,
    use(id: string, caller: Caller): Row | null {
      if (ended.has(id) || !SESSION_ID_FORM.test(id)) return null
      const owner = ownerOf(caller)
      const row = rows.get(id) ?? recreate(id, caller)
      if (row.owner !== owner) return null
      rows.delete(id)
      rows.set(id, row)
      return row
    },
    end(id: string, caller: Caller): boolean {
      const row = rows.get(id)
      if (row === undefined || row.owner !== ownerOf(caller)) return false
      forget(row)
      ended.add(id)
      const oldest = ended.values().next().value
      if (ended.size > LIMITS.mcp_sessions_max && oldest !== undefined) ended.delete(oldest)
      return true
    },
  }
}

export function resourceUpdated(uri: string): object {
  return { jsonrpc: '2.0', method: 'notifications/resources/updated', params: { uri } }
}

function ownerOf(caller: Caller): string {
  return `${caller.kind} ${caller.identity}`
}
