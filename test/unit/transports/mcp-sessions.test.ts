/** MCP sessions are names with subscriptions: cheap to make, cheap to lose, nobody else's. */
import { EventEmitter } from 'node:events'
import type { ServerResponse } from 'node:http'
import { beforeEach, describe, expect, test } from 'vitest'
import { LIMITS } from '../../../src/contracts/limits.ts'
import type { Caller } from '../../../src/contracts/token.ts'
import type { Clock } from '../../../src/ports/clock.ts'
import { pendingUri } from '../../../src/transports/mcp/resources.ts'
import { createMcpSessions, type McpSessions } from '../../../src/transports/mcp/sessions.ts'

const ADA: Caller = { tenant_id: 'local', kind: 'agent', identity: 'ada' }
const BOB: Caller = { ...ADA, identity: 'bob' }

class Stream extends EventEmitter {
  written: string[] = []
  writableLength = 0
  gone = false
  socket = new EventEmitter()
  req = { socket: this.socket }
  write(text: string): boolean {
    this.written.push(text)
    return true
  }
  end(): void {
    this.gone = true
    this.emit('close')
  }
  destroy(): void {
    this.end()
  }
}
const asResponse = (stream: Stream) => stream as unknown as ServerResponse

let sessions: McpSessions
let beat: () => void
let beating: boolean
beforeEach(() => {
  let id = 0
  beating = true
  const clock = {
    every: (_: number, call: () => void) => {
      beat = call
      return { cancel: () => (beating = false) }
    },
  } as unknown as Clock
  sessions = createMcpSessions({ clock, ids: { next: () => `S${++id}`, startAfter: () => {} } })
})

describe('a session', () => {
  test('is found by its owner, as whoever it is', () => {
    const { id } = sessions.begin(ADA)
    expect(sessions.find(id, ADA)?.id).toBe(id)
    expect(sessions.find(id, BOB)).toBeNull()
    expect(sessions.find(id, { ...ADA, kind: 'observer' })).toBeNull()
  })

  test.each(['', 'with space', 'x'.repeat(129), 'ünicode', 'new\nline'])('cannot be called %j', (id) => {
    expect(sessions.find(id, ADA)).toBeNull()
  })

  test('keeps its subscriptions between requests', () => {
    const { id } = sessions.begin(ADA)
    sessions.find(id, ADA)?.subscriptions.add('uri')
    expect([...(sessions.find(id, ADA)?.subscriptions ?? [])]).toEqual(['uri'])
  })

  test('that was ended stays ended, and only its owner ends it', () => {
    const { id } = sessions.begin(ADA)
    expect(sessions.end(id, BOB)).toBe(false)
    expect(sessions.end(id, ADA)).toBe(true)
    expect(sessions.end(id, ADA)).toBe(false)
    expect(sessions.find(id, ADA)).toBeNull()
  })

  test('unused for longest gives way when there are too many; one with an open stream does not', () => {
    const oldest = sessions.begin(ADA)
    const stream = new Stream()
    sessions.open(oldest, asResponse(stream))
    const second = sessions.begin(ADA)
    second.subscriptions.add('uri')
    for (let n = 2; n <= LIMITS.mcp_sessions_max; n++) sessions.begin(ADA)
    expect(sessions.counts()).toEqual({ sessions: LIMITS.mcp_sessions_max, streams: 1 })
    expect(stream.gone).toBe(false)
    // Found again it is made anew, and what it was subscribed to is not known.
    expect([...(sessions.find(second.id, ADA)?.subscriptions ?? [])]).toEqual([pendingUri('ada')])
  })

  test('that is made anew hears of the queue of its caller, at first as its stream opens', () => {
    const session = sessions.find('from-before-the-restart', ADA)!
    const streams = [new Stream(), new Stream()]
    for (const stream of streams) sessions.open(session, asResponse(stream))
    expect(streams.map(({ written }) => written)).toEqual([
      [expect.stringContaining(`"uri":"${pendingUri('ada')}"`)],
      [],
    ])
  })
})

describe('a stream', () => {
  const opened = (caller = ADA) => {
    const session = sessions.begin(caller)
    const stream = new Stream()
    sessions.open(session, asResponse(stream))
    return { session, stream }
  }

  test('is told only what its session wants', () => {
    const [ada, bob] = [opened(ADA), opened(BOB)]
    ada.session.subscriptions.add('uri')
    sessions.notify({ n: 1 }, ({ subscriptions }) => subscriptions.has('uri'))
    expect(ada.stream.written).toEqual(['event: message\ndata: {"n":1}\n\n'])
    expect(bob.stream.written).toEqual([])
  })

  test('is counted as long as it is open', () => {
    const { session, stream } = opened()
    opened(BOB)
    expect(sessions.counts().streams).toBe(2)
    stream.end()
    expect(sessions.counts().streams).toBe(1)
    sessions.end(session.id, ADA)
    expect(sessions.counts()).toEqual({ sessions: 1, streams: 1 })
  })

  test('gives way with its session when every session has one, so both stay bounded', () => {
    const { stream } = opened()
    for (let n = 0; n < LIMITS.mcp_sessions_max; n++) opened()
    expect(stream.gone).toBe(true)
    expect(sessions.counts()).toEqual({ sessions: LIMITS.mcp_sessions_max, streams: LIMITS.mcp_sessions_max })
  })

  test('that nobody reads is closed instead of filling the memory', () => {
    const { stream } = opened()
    stream.writableLength = LIMITS.ws_backlog_bytes_max + 1
    sessions.notify({}, () => true)
    expect(stream.gone).toBe(true)
    expect(sessions.counts().streams).toBe(0)
  })

  test('hears heartbeats until all of it ends', () => {
    const { stream } = opened()
    beat()
    expect(stream.written).toEqual([': \n\n'])
    sessions.close()
    expect([stream.gone, beating, sessions.counts()]).toEqual([true, false, { sessions: 0, streams: 0 }])
  })
})
