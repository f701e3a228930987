/** Tests which thread of a Codex is recorded, and the begin and the end of its session. */
import { beforeEach, describe, expect, test } from 'vitest'
import { createActivityFeed, type ActivityFeed } from '../../../../adapters/codex/activity/activity-feed.ts'
import type { RecordedSession } from '../../../../adapters/codex/activity/recorded-session.ts'
import type { Captured } from '../../../../adapters/activity/captured.ts'
import { LIMITS } from '../../../../src/contracts/limits/limits.ts'
import { silentLog } from '../../../../src/ports/log.ts'
import {
  CHILD,
  command,
  itemStarted,
  second,
  thread,
  THREAD,
  turn,
  turnCompleted,
  turnId,
  turnStarted,
  userMessage,
} from '../../../support/codex/messages.ts'

const OWN = { server_kind: 'own', instance_id: '7:boot:1' } as const

let events: { session_id: string; kind: string; data: object }[]
let stored: RecordedSession | null
let known: string[]
let gone: string[]
let timers: (() => void)[]
let feed: ActivityFeed

function open(failing = false): ActivityFeed {
  return createActivityFeed({
    identity: 'ada',
    log: {
      record(fact: Captured, { session_id }) {
        if (failing) throw new Error('full')
        known.push(session_id)
        events.push({ session_id, kind: fact.kind, data: fact.data })
        return 1
      },
      isKnown: (session_id) => known.includes(session_id),
    },
    store: { read: () => stored, write: (session) => void (stored = session) },
    isGone: (instance_id) => gone.includes(instance_id),
    clock: {
      now: () => second(0),
      after(_ms, run) {
        timers.push(run)
        return { cancel: () => {} }
      },
    },
    own_log: silentLog,
  })
}

beforeEach(() => {
  events = []
  stored = null
  known = []
  gone = []
  timers = []
  feed = open()
})

const kinds = () => events.map(({ kind }) => kind)
function receive(...messages: object[]): void {
  for (const message of messages) feed.message(message, 'own')
}
/** An app-server that returns these turns, newest first. */
function server(turns: object[] | Error) {
  const call = (method: string) => {
    expect(method).toBe('thread/turns/list')
    return turns instanceof Error ? Promise.reject(turns) : Promise.resolve({ data: turns } as never)
  }
  return { call }
}
const settled = () => new Promise((resolve) => setImmediate(resolve))

describe('the session of a Codex thread', () => {
  test('a bound thread is a session with its directory, model and process', () => {
    feed.bound(thread(), OWN)
    expect(events).toEqual([
      {
        session_id: THREAD,
        kind: 'session.started',
        data: { project: '/projects/a', model: 'scripted', reason: 'startup', pid: 7, pid_started: 'boot:1' },
      },
    ])
  })

  test('a thread without those facts is a session, too', () => {
    feed.bound(thread({ cwd: 1, model: null, preview: 'hello' }), { server_kind: 'own', instance_id: null })
    expect(events).toMatchObject([{ kind: 'session.started', data: {} }])
    receive(turnStarted(1), itemStarted(1, userMessage('x')), turnCompleted(1))
    expect(kinds()).toEqual(['session.started', 'request.started', 'request.ended'])
  })

  test('the thread of another shim continues its session and its turn', () => {
    stored = {
      session_id: THREAD,
      instance_id: OWN.instance_id,
      since_ms: second(0),
      turn: { turn_id: turnId(1), ended: false },
    }
    known = [THREAD]
    feed = open()
    feed.bound(thread(), OWN)
    receive(itemStarted(1, command('c1', 'ls')), turnCompleted(1))
    expect(kinds()).toEqual(['action.started', 'request.ended'])
    expect(stored.turn).toEqual({ turn_id: turnId(1), ended: true })
  })

  test('a thread that another process continues ends and begins again', () => {
    feed.bound(thread(), OWN)
    feed.bound(thread({ preview: 'hello' }), { ...OWN, instance_id: '8:boot:2' })
    expect(events.slice(1)).toMatchObject([
      { kind: 'session.ended', data: { reason: 'exit' } },
      { kind: 'session.started', data: { reason: 'resume', pid: 8 } },
    ])
  })

  test('another thread ends the session, also one of which only hooks report', () => {
    feed.bound(thread(), OWN)
    feed.bound(thread({ id: CHILD }), OWN)
    receive(turnStarted(1), itemStarted(1, userMessage('x')))
    feed.boundByHooks(CHILD)
    expect(events.slice(1)).toHaveLength(2)
    feed.boundByHooks(THREAD)
    expect(events.slice(1)).toMatchObject([
      { session_id: THREAD, kind: 'session.ended', data: { reason: 'other_thread' } },
      { session_id: CHILD, kind: 'session.started' },
      { session_id: CHILD, kind: 'session.ended', data: { reason: 'other_thread' } },
    ])
    expect(stored).toBeNull()
  })

  test('a closed thread ends the session, and nothing of it is recorded after that', () => {
    feed.bound(thread(), OWN)
    receive({ method: 'thread/closed', params: { threadId: CHILD } })
    receive({ method: 'thread/closed', params: { threadId: THREAD } }, turnStarted(1), turnCompleted(1))
    expect(events.slice(1)).toMatchObject([{ kind: 'session.ended', data: { reason: 'closed' } }])
  })

  test('a lost connection ends the session only if the process has ended', () => {
    feed.bound(thread(), OWN)
    feed.disconnected('shared')
    expect(timers).toHaveLength(0)
    feed.disconnected('own')
    for (const run of timers.splice(0)) run()
    feed.bound(thread(), OWN)
    expect(kinds()).toEqual(['session.started'])
    feed.disconnected('own')
    gone = [OWN.instance_id]
    for (const run of timers) run()
    expect(events.slice(1)).toMatchObject([{ kind: 'session.ended', data: { reason: 'exit' } }])
  })

  test('a shim that stops its app-server ends the session', () => {
    feed.bound(thread(), OWN)
    feed.close(null)
    expect(kinds()).toEqual(['session.started'])
    feed.close('own')
    expect(kinds()).toEqual(['session.started', 'session.ended'])
  })
})

describe('the messages of a Codex thread', () => {
  const FIRST = [turnStarted(1), itemStarted(1, userMessage('x')), turnCompleted(1)]

  test('messages of another app-server and before the binding are ignored', () => {
    receive(...FIRST)
    feed.bound(thread(), OWN)
    for (const message of FIRST) feed.message(message, 'shared')
    expect(kinds()).toEqual(['session.started'])
  })

  test('invalid messages and a log that fails cost the surface nothing', () => {
    feed.bound(thread(), OWN)
    receive(
      {},
      { method: 1 },
      { method: 'turn/started' },
      { method: 'turn/started', params: { threadId: THREAD } },
    )
    receive({ method: 'item/started', params: { threadId: THREAD, turnId: 'x', item: null } })
    expect(kinds()).toEqual(['session.started'])
    feed = open(true)
    feed.bound(thread(), OWN)
    receive(...FIRST)
  })

  test('a turn that began before the subscription is read, and messages wait for it', async () => {
    feed.bound(thread(), OWN)
    const user = { ...userMessage('first'), startedAtMs: second(1), completedAtMs: second(1) }
    feed.subscribing(server([turn(1, { items: [user] })]), Promise.resolve(true))
    receive(itemStarted(1, command('c1', 'ls')), turnCompleted(1))
    expect(kinds()).toEqual(['session.started'])
    await settled()
    expect(kinds().slice(1)).toEqual(['request.started', 'action.started', 'request.ended'])
    expect(events[1]?.data).toMatchObject({ prompt: 'first' })
  })

  test('turns that ended before the thread was bound are not recorded', async () => {
    feed.bound(thread({ preview: 'hello' }), OWN)
    const old = turn(1, { status: 'completed', startedAt: 1, completedAt: 2 })
    feed.subscribing(server([old]), Promise.resolve(true))
    await settled()
    expect(kinds()).toEqual(['session.started'])
  })

  test('a turn that ended while no shim ran is recorded by the next one', async () => {
    stored = { session_id: THREAD, instance_id: OWN.instance_id, since_ms: second(0) - 60_000, turn: null }
    feed = open()
    feed.bound(thread({ preview: 'x' }), OWN)
    const ended = turn(1, { status: 'completed', completedAt: second(0) / 1000 - 10 })
    feed.subscribing(server([ended]), Promise.resolve(true))
    await settled()
    expect(kinds()).toEqual(['request.started', 'request.ended'])
  })

  test.each([
    ['refused', server([]), false],
    ['not followed by an answer', server(new Error('unknown method')), true],
  ])('messages are recorded when the subscription is %s', async (_how, to, subscribed) => {
    feed.bound(thread(), OWN)
    feed.subscribing(to, Promise.resolve(subscribed))
    receive(...FIRST)
    await settled()
    expect(kinds().slice(1)).toEqual(['request.started', 'request.ended'])
  })

  test('not more than a bounded number of messages waits', () => {
    feed.bound(thread(), OWN)
    feed.subscribing(server([]), new Promise(() => {}))
    receive(...FIRST.slice(0, 2))
    for (let n = 0; n < LIMITS.codex_buffered_notifications_max; n += 1)
      receive(itemStarted(1, { type: 'plan', id: 'p' }))
    expect(kinds().slice(1)).toEqual(['request.started'])
  })
})
