/**
 * MCP sessions of the 2025 era. A session is a name, its subscriptions and perhaps an open stream;
 * it proves nothing and holds nothing that matters, so one that is unknown (the hub has restarted) is
 * simply made anew for the caller that names it. What it was subscribed to is not known then: it is taken to
 * be the caller's own queue, since to hear too much costs a look, and to hear nothing costs a signal its bell.
 */
import type { ServerResponse } from 'node:http'
import { eventOf } from './event-stream.ts'
import { pendingUri } from './resources.ts'
import { LIMITS } from '../../contracts/limits.ts'
import type { Caller } from '../../contracts/token.ts'
import type { Clock, Timer } from '../../ports/clock.ts'
import type { Ids } from '../../ports/random.ts'
import { whenClosed } from '../http/answered.ts'

export interface McpSession {
  id: string
  subscriptions: Set<string>
}

interface Row extends McpSession {
  owner: string
  stream: ServerResponse | null
  /** What may have changed unheard: told once a stream is open. */
  missed: string | null
}

export interface McpSessions {
  begin(caller: Caller): McpSession
  /** Null when the session was ended, or is another caller's. */
  find(id: string, caller: Caller): McpSession | null
  end(id: string, caller: Caller): boolean
  /** Takes an answer that has begun for the session's one stream; a former one is closed. */
  open(session: McpSession, response: ServerResponse): void
  /**
   * To every session that `wants` it and has an open stream. What a stream's reader does not take is
   * lost: it can read again.
   */
  notify(message: object, wants: (session: McpSession) => boolean): void
  counts(): { sessions: number; streams: number }
  close(): void
}

const SESSION_ID_FORM = /^[\x21-\x7e]{1,128}$/

export function createMcpSessions({ clock, ids }: { clock: Clock; ids: Ids }): McpSessions {
  /** Ordered by last use. */
  const rows = new Map<string, Row>()
  const ended = new Set<string>()
  let streams = 0
  const heartbeat: Timer = clock.every(LIMITS.sse_heartbeat_ms, () => {
    for (const { stream } of rows.values()) stream?.write(': \n\n')
  })

  const add = (id: string, owner: string): Row => {
    if (rows.size >= LIMITS.mcp_sessions_max) {
      const unused = [...rows.values()].find((row) => row.stream === null) ?? rows.values().next().value
      if (unused !== undefined) forget(unused)
    }
    const row: Row = { id, owner, subscriptions: new Set(), stream: null, missed: null }
    rows.set(id, row)
    return row
  }
  const addAnew = (id: string, caller: Caller): Row => {
    const row = add(id, ownerOf(caller))
    row.missed = pendingUri(caller.identity)
    row.subscriptions.add(row.missed)
    return row
  }
  const forget = (row: Row) => {
    rows.delete(row.id)
    row.stream?.end()
  }

  return {
    begin: (caller) => add(ids.next(), ownerOf(caller)),
    find(id, caller) {
      if (ended.has(id) || !SESSION_ID_FORM.test(id)) return null
      const owner = ownerOf(caller)
      const row = rows.get(id) ?? addAnew(id, caller)
      if (row.owner !== owner) return null
      rows.delete(id)
      rows.set(id, row)
      return row
    },
    end(id, caller) {
      const row = rows.get(id)
      if (row === undefined || row.owner !== ownerOf(caller)) return false
      forget(row)
      ended.add(id)
      const oldest = ended.values().next().value
      if (ended.size > LIMITS.mcp_sessions_max && oldest !== undefined) ended.delete(oldest)
      return true
    },
    open(session, response) {
      const row = rows.get(session.id)
      if (row === undefined) return
      row.stream?.end()
      row.stream = response
      if (row.missed !== null) response.write(eventOf(resourceUpdated(row.missed)))
      row.missed = null
      streams++
      whenClosed(response, () => {
        streams--
        if (row.stream === response) row.stream = null
      })
    },
    notify(message, wants) {
      const frame = eventOf(message)
      for (const row of rows.values()) {
        if (row.stream === null || !wants(row)) continue
        if (row.stream.writableLength > LIMITS.ws_backlog_bytes_max) row.stream.destroy()
        else row.stream.write(frame)
      }
    },
    counts: () => ({ sessions: rows.size, streams }),
    close() {
      heartbeat.cancel()
      for (const row of [...rows.values()]) forget(row)
    },
  }
}

export function resourceUpdated(uri: string): object {
  return { jsonrpc: '2.0', method: 'notifications/resources/updated', params: { uri } }
}

function ownerOf(caller: Caller): string {
  return `${caller.kind} ${caller.identity}`
}
