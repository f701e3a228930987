/** Tests the worker's view of the module in Claude Code: whether it lives, and the outcome of its doorbell. */
import { beforeEach, describe, expect, test } from 'vitest'
import { createModLink, type ModLink } from '../../../../adapters/claude-code/mod-link/mod-link.ts'
import { Batch, type ClientView, type ModEvent } from '../../../../adapters/claude-code/mod/messages.ts'
import { PROTOCOL } from '../../../../adapters/claude-code/mod/protocol.ts'
import { LIMITS } from '../../../../src/contracts/limits/limits.ts'
import { silentLog } from '../../../../src/ports/log.ts'
import { doorbell } from '../../../support/doorbells.ts'
import { atRest, fakeClock, type FakeClock } from '../../../support/fakes/fake-clock.ts'
import { fakeModule, HELLO, type FakeModule } from '../../../support/fakes/fake-module.ts'

let clock: FakeClock
let link: ModLink
let events: ModEvent[]
/** Session of each event. */
let sessions: string[]
let dropped: number[]
let lost: string[]
let epochs: number
let warned: object[]

const open = (enabled = true) =>
  createModLink({
    ...{ version: '0.1.0', enabled, clock },
    log: { ...silentLog, warn: (fields) => void warned.push(fields) },
    newEpoch: () => `epoch-${++epochs}`,
    onAttached: () => {},
    onEvent: ({ ...event }, { session_id }) => {
      events.push(event)
      sessions.push(session_id)
    },
    onDropped: (count) => void dropped.push(count),
    onLost: (why) => void lost.push(why),
  })

beforeEach(() => {
  clock = fakeClock()
  events = []
  sessions = []
  dropped = []
  lost = []
  epochs = 0
  warned = []
  link = open()
})

describe('a module', () => {
  test('a module is attached while it sends requests, and gone after it was silent', async () => {
    expect(link.absence()).toBe('never attached')
    const module = fakeModule(link)
    await clock.advance(LIMITS.mod_silent_ms - 1)
    module.report()
    await clock.advance(LIMITS.mod_silent_ms - 1)
    expect(link.attached()).toMatchObject({ client_version: HELLO.client_version })
    await clock.advance(1)
    expect([link.attached(), link.absence(), lost]).toEqual([null, 'silent', ['silent']])
    expect(module.report()).toBe(false)
  })

  test('a module with another protocol, or one that is switched off, is refused with the reason', () => {
    expect(link.hello({ ...HELLO, protocol: PROTOCOL + 1 })).toMatchObject({
      mode: 'off',
      reason: 'protocol',
    })
    expect([link.attached(), link.absence()]).toEqual([null, 'another protocol'])
    link = open(false)
    expect(link.hello(HELLO)).toMatchObject({ mode: 'off', reason: 'configured' })
    expect([link.attached(), link.absence()]).toEqual([null, 'configured'])
  })

  test('a module of another version is attached, with a warning', () => {
    fakeModule(link, { version: '0.2.0' })
    expect(link.attached()).toMatchObject({ version: '0.2.0' })
    expect(warned).toEqual([{ module: '0.2.0', worker: '0.1.0' }])
  })

  test('a repeated batch counts once, and a module that is loaded again begins another epoch', () => {
    const first = fakeModule(link)
    const event = { kind: 'prompt', origin: 'composer', seq: 1, at: 0 } as const
    const batch = { epoch: first.epoch(), lost: 0, events: [event] }
    expect([link.events(batch), link.events(batch)]).toEqual([true, true])
    expect(events).toHaveLength(1)
    const second = fakeModule(link)
    expect([first.report(), second.report({ kind: 'stopped' })]).toEqual([false, true])
  })

  test('every event has the session in which it happened', () => {
    const module = fakeModule(link)
    module.report({ kind: 'stopped' }, { kind: 'session', session_id: 's2' }, { kind: 'stopped' })
    expect(sessions).toEqual([HELLO.session_id, 's2', 's2'])
    fakeModule(link).report({ kind: 'stopped' })
    expect(sessions.at(-1)).toBe(HELLO.session_id)
  })

  test('dropped events are reported before the events after them', () => {
    const module = fakeModule(link)
    module.report({ kind: 'stopped' })
    link.events({ epoch: module.epoch(), lost: 3, events: [] })
    expect([dropped, warned]).toEqual([[3], [{ lost: 3 }]])
  })

  test('events that were dropped before the greeting are only a warning', () => {
    const epoch = fakeModule(link, { past: 1 }).epoch()
    const event = { kind: 'stopped', seq: 1, at: 0 } as const
    link.events({ epoch, lost: 3, events: [event] })
    expect([dropped, warned]).toEqual([[], [{ lost: 3 }]])
    link.events({ epoch, lost: 2, events: [] })
    expect(dropped).toEqual([2])
  })

  test('figures that are no whole numbers count as missing, and other events that cannot be read as dropped', () => {
    const sent = [
      { seq: 1, at: 0, kind: 'measured', tokens: null, window: 1.5, cost_usd: 'none' },
      { seq: 2, at: 0, kind: 'turn_ended', turn: 7 },
      { seq: 3, at: 0, kind: 'moon_risen' },
    ]
    const { data, error } = Batch.safeParse({ epoch: fakeModule(link).epoch(), lost: 0, events: sent })
    expect(error).toBeUndefined()
    link.events(data as Batch)
    expect([events, dropped]).toEqual([[{ kind: 'measured', seq: 1, at: 0 }], [1]])
  })

  test('a wait is answered after its time, by another wait, and for a former epoch', async () => {
    const module = fakeModule(link)
    const first = module.wait()
    const second = module.wait()
    expect(await first).toEqual({})
    await clock.advance(LIMITS.mod_wait_ms)
    expect(await second).toEqual({})
    const third = module.wait()
    fakeModule(link)
    expect([await third, await module.wait()]).toEqual([null, null])
  })
})

describe('a doorbell', () => {
  test('a doorbell is handed over by a wait before or after the ring, and its outcome ends the ring', async () => {
    const module = fakeModule(link)
    const [one, two] = [doorbell(), doorbell()]
    const waiting = module.wait()
    const ringing = link.ring(one)
    expect(await waiting).toEqual({ bell: { doorbell_id: one.doorbell_id, text: one.text } })
    module.report({ kind: 'bell', doorbell_id: one.doorbell_id })
    expect(await ringing).toBe('entered')
    const again = link.ring(two)
    expect(await module.wait()).toMatchObject({ bell: { doorbell_id: two.doorbell_id } })
    module.report({ kind: 'bell', doorbell_id: two.doorbell_id, dropped: 'busy' })
    expect([await again, link.underWay()]).toEqual(['busy', null])
    expect(events.at(-1)).toMatchObject({ doorbell_id: two.doorbell_id, dropped: 'busy' })
  })

  test('a doorbell without an outcome is under way until the module reports it or is gone', async () => {
    const module = fakeModule(link)
    const bell = doorbell()
    const ringing = link.ring(bell)
    await module.wait()
    await clock.advance(LIMITS.mod_receipt_ms)
    expect([await ringing, link.underWay()]).toEqual(['waits', bell.doorbell_id])
    module.report({ kind: 'ended' })
    expect([link.underWay(), lost]).toEqual([null, ['ended']])
    expect(await link.ring(doorbell())).toBe('untaken')
  })

  test('a doorbell that no module fetches is untaken, and is not handed over later', async () => {
    const module = fakeModule(link)
    const ringing = link.ring(doorbell())
    await clock.advance(LIMITS.mod_receipt_ms)
    expect([await ringing, link.underWay()]).toEqual(['untaken', null])
    const waiting = module.wait()
    await clock.advance(LIMITS.mod_wait_ms)
    expect(await waiting).toEqual({})
    const again = link.ring(doorbell())
    module.report({ kind: 'ended' })
    expect([await again, await link.ring(doorbell())]).toEqual(['untaken', 'untaken'])
  })

  test('a doorbell that did not reach the module is handed over again, and one that it holds is not', async () => {
    const module = fakeModule(link)
    const bell = doorbell()
    void link.ring(bell)
    const given = { bell: { doorbell_id: bell.doorbell_id, text: bell.text } }
    expect(await module.wait()).toEqual(given)
    expect(await module.wait()).toEqual(given)
    const held = module.wait([bell.doorbell_id])
    await clock.advance(LIMITS.mod_wait_ms)
    expect(await held).toEqual({})
  })

  test('a doorbell is not given to a request that was aborted', async () => {
    const module = fakeModule(link)
    const gone = new AbortController()
    const aborted = module.wait([], gone.signal)
    gone.abort()
    const bell = doorbell()
    void link.ring(bell)
    await atRest()
    expect(await aborted).toEqual({})
    expect(await module.wait()).toMatchObject({ bell: { doorbell_id: bell.doorbell_id } })
  })
})

describe('a view', () => {
  const VIEW: ClientView = { persona: 'ada', team: null }
  const waitFor = (module: FakeModule, view: number) => module.wait([], undefined, view)

  test('a changed view answers the open wait, and a module that shows it waits', async () => {
    const module = fakeModule(link)
    const waiting = waitFor(module, 0)
    link.show(VIEW, undefined)
    expect(await waiting).toEqual({ view: { version: 1, view: VIEW } })
    const still = waitFor(module, 1)
    await clock.advance(LIMITS.mod_wait_ms)
    expect(await still).toEqual({})
    const next = { ...VIEW, persona: 'bob' }
    link.show(next, undefined)
    expect(await waitFor(module, 1)).toEqual({ view: { version: 2, view: next } })
  })

  test('a module that was loaded again gets the view, without the arrivals that the former one got', async () => {
    const first = fakeModule(link)
    link.show(VIEW, { count: 1, from: ['bob'], more: true })
    link.show(VIEW, { count: 2, from: ['cyd', 'bob'] })
    const arrived = { count: 3, from: ['bob', 'cyd'], more: true }
    expect(await waitFor(first, 0)).toEqual({ view: { version: 2, view: VIEW, arrived } })
    expect(await waitFor(fakeModule(link), 0)).toEqual({ view: { version: 2, view: VIEW } })
  })

  test('a doorbell and a view are handed over together', async () => {
    const module = fakeModule(link)
    const bell = doorbell()
    void link.ring(bell)
    link.show(VIEW, undefined)
    const { doorbell_id, text } = bell
    expect(await waitFor(module, 0)).toEqual({
      bell: { doorbell_id, text },
      view: { version: 1, view: VIEW },
    })
  })
})
