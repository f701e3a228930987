/** Tests MCP sessions: names with subscriptions that are cheap to create and to lose, and belong to one caller. */
import { EventEmitter } from 'node:events'
import type { ServerResponse } from 'node:http'
import { beforeEach, describe, expect, test } from 'vitest'
import { LIMITS } from '../../../src/contracts/limits/limits.ts'
import type { Caller } from '../../../src/contracts/token.ts'
import type { Clock } from '../../../src/ports/clock.ts'
import { pendingUri } from '../../../src/transports/mcp/resources.ts'
import { createMcpSessions, type McpSession, type McpSessions } from '../../../src/transports/mcp/sessions.ts'
import { createQuotas } from '../../../src/transports/quotas.ts'

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
  sessions = createMcpSessions({
    clock,
    ids: { next: () => `S${++id}`, startAfter: () => {} },
    quotas: createQuotas(() => undefined),
  })
})

const open = (session: McpSession, stream: Stream, caller = ADA) =>
  sessions.open(session, caller, asResponse(stream), () => undefined)

describe('a session', () => {
  test('a session is found by its owner only', () => {
    const { id } = sessions.begin(ADA)
    expect(sessions.find(id, ADA)?.id).toBe(id)
    expect(sessions.find(id, BOB)).toBeNull()
    expect(sessions.find(id, { ...ADA, kind: 'observer' })).toBeNull()
  })

  test.each(['', 'with space', 'x'.repeat(129), 'ünicode', 'new\nline'])(
    'a session cannot have the id %j',
    (id) => {
      expect(sessions.find(id, ADA)).toBeNull()
    },
  )

  test('a session keeps its subscriptions between requests', () => {
    const { id } = sessions.begin(ADA)
    sessions.find(id, ADA)?.subscriptions.add('uri')
    expect([...(sessions.find(id, ADA)?.subscriptions ?? [])]).toEqual(['uri'])
  })

  test('an ended session stays ended, and only its owner ends it', () => {
    const { id } = sessions.begin(ADA)
    expect(sessions.end(id, BOB)).toBe(false)
    expect(sessions.end(id, ADA)).toBe(true)
    expect(sessions.end(id, ADA)).toBe(false)
    expect(sessions.find(id, ADA)).toBeNull()
  })

  test('the least recently used session is removed when there are too many, unless it has an open stream', () => {
    const oldest = sessions.begin(ADA)
    const stream = new Stream()
    open(oldest, stream)
    const second = sessions.begin(ADA)
    second.subscriptions.add('uri')
    for (let n = 2; n <= LIMITS.caller_mcp_sessions_max; n++) sessions.begin(ADA)
    expect(sessions.counts()).toEqual({ sessions: LIMITS.caller_mcp_sessions_max, streams: 1 })
    expect(stream.gone).toBe(false)
    // Recreated when it is looked up, without its subscriptions.
    expect([...(sessions.find(second.id, ADA)?.subscriptions ?? [])]).toEqual([pendingUri('ada')])
  })

  test("a session is not removed because of another caller's sessions", () => {
    const { subscriptions } = sessions.begin(BOB)
    for (let n = 0; n < 2 * LIMITS.mcp_sessions_max; n++) sessions.begin(ADA)
    expect(sessions.counts().sessions).toBe(LIMITS.caller_mcp_sessions_max + 1)
    expect(sessions.find('S1', BOB)?.subscriptions).toBe(subscriptions)
  })

  test("a recreated session is notified of its caller's queue, first when its stream opens", () => {
    const session = sessions.find('from-before-the-restart', ADA)!
    const streams = [new Stream(), new Stream()]
    for (const stream of streams) open(session, stream)
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
    open(session, stream, caller)
    return { session, stream }
  }

  test('a stream receives only the notifications of its session', () => {
    const [ada, bob] = [opened(ADA), opened(BOB)]
    ada.session.subscriptions.add('uri')
    sessions.notify({ n: 1 }, ({ subscriptions }) => subscriptions.has('uri'))
    expect(ada.stream.written).toEqual(['event: message\ndata: {"n":1}\n\n'])
    expect(bob.stream.written).toEqual([])
  })

  test('a stream is counted while it is open', () => {
    const { session, stream } = opened()
    opened(BOB)
    expect(sessions.counts().streams).toBe(2)
    stream.end()
    expect(sessions.counts().streams).toBe(1)
    sessions.end(session.id, ADA)
    expect(sessions.counts()).toEqual({ sessions: 1, streams: 1 })
  })

  test('a stream is closed with its session when every session has one, so both stay limited', () => {
    const { stream } = opened({ ...ADA, kind: 'operator' })
    // Each caller has a share of them.
    const most = LIMITS.mcp_streams_max - LIMITS.mcp_streams_kept
    for (let n = 0; n < most; n++) opened({ ...ADA, identity: `agent-${n % 500}` })
    for (let n = most; n < LIMITS.mcp_streams_max; n++)
      opened({ ...ADA, kind: 'daemon', identity: `daemon-${n}` })
    expect(stream.gone).toBe(true)
    expect(sessions.counts()).toEqual({ sessions: LIMITS.mcp_sessions_max, streams: LIMITS.mcp_sessions_max })
  })

  test('a stream that is not read is closed instead of filling the memory', () => {
    const { stream } = opened()
    stream.writableLength = LIMITS.ws_backlog_bytes_max + 1
    sessions.notify({}, () => true)
    expect(stream.gone).toBe(true)
    expect(sessions.counts().streams).toBe(0)
  })

  test('a stream receives heartbeats until it ends', () => {
    const { stream } = opened()
    beat()
    expect(stream.written).toEqual([': \n\n'])
    sessions.close()
    expect([stream.gone, beating, sessions.counts()]).toEqual([true, false, { sessions: 0, streams: 0 }])
  })
})
