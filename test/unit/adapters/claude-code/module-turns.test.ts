/** Tests the turns and rings of a Claude Code session while a module in the client reports them. */
import { beforeEach, describe, expect, test } from 'vitest'
import { claudeSurface, type ClaudeSurface } from '../../../../adapters/claude-code/claude-surface.ts'
import { createModLink, type ModLink } from '../../../../adapters/claude-code/mod-link/mod-link.ts'
import type { ModEvent } from '../../../../adapters/claude-code/mod/messages.ts'
import { LIMITS } from '../../../../src/contracts/limits/limits.ts'
import { silentLog } from '../../../../src/ports/log.ts'
import { doorbell } from '../../../support/doorbells.ts'
import { atRest, fakeClock, type FakeClock } from '../../../support/fakes/fake-clock.ts'
import { fakeModule, HELLO, type FakeModule } from '../../../support/fakes/fake-module.ts'
import { turnEvent } from '../../../support/turn-events.ts'
import { recordingHost } from '../../../suites/surface.suite.ts'

let clock: FakeClock
let host: ReturnType<typeof recordingHost>
let link: ModLink
let surface: ClaudeSurface
let module: FakeModule
let posted: string[]
let warnings: string[]
let onInterrupted: () => Promise<void>
let drainsReleased: () => Promise<void>

beforeEach(async () => {
  clock = fakeClock()
  host = recordingHost()
  posted = []
  warnings = []
  onInterrupted = async () => {}
  drainsReleased = async () => {}
  link = createModLink({
    ...{ version: '0.1.0', enabled: true, clock, log: silentLog },
    newEpoch: () => 'epoch-1',
    onAttached: (hello) => surface.modAttached(hello),
    onEvent: (event, of) => surface.modEvent(event, of),
    onDropped: () => surface.modDropped(),
    onLost: () => surface.modLost(),
  })
  surface = claudeSurface({
    ...{ session_id: 'session-1', mod: link, clock, degraded: silentLog, respawned: false },
    log: { ...silentLog, warn: (_, message) => void warnings.push(message) },
    onInterrupted: () => onInterrupted(),
    drainsReleased: () => drainsReleased(),
    isStopped: () => false,
    paths: { markLost() {}, unread: () => false, post: async (text) => (posted.push(text), 'sent') },
  })
  surface.open(host)
  module = fakeModule(link, { busy: false })
  await atRest()
})

async function reports(...events: ModEvent[]): Promise<void> {
  module.report(...events)
  await atRest()
}

const STARTED = { kind: 'turn_started', turn: 't1' } as const
const ended = (reason: string) => ({ kind: 'turn_ended', turn: 't1', reason }) as const

describe('while a module is attached', () => {
  test('the module reports the turns, and neither hooks nor the registry do', async () => {
    expect(await surface.status()).toMatchObject({ turn: 'idle', via: 'module' })
    const { turn_seq } = await surface.status()
    await surface.hookFired(turnEvent('UserPromptSubmit', { prompt: 'hello' }))
    surface.registryRead({ status: 'busy' })
    await clock.advance(LIMITS.claude_registry_lag_ms + LIMITS.claude_settle_ms)
    expect(await surface.status()).toMatchObject({ turn: 'idle', turn_seq })
    await reports(STARTED)
    expect(host.reports.at(-1)).toMatchObject({ turn: 'busy', turn_seq: turn_seq + 1 })
    expect(await surface.stopped(turnEvent('Stop'), () => false)).toBeNull()
    expect(host.reports.some(({ take }) => take === true)).toBe(false)
    expect(await surface.status()).toMatchObject({ turn: 'busy' })
    await reports({ ...ended('answer'), agent: 'a1' })
    expect(await surface.status()).toMatchObject({ turn: 'busy' })
    await reports(ended('answer'))
    expect(host.reports.at(-1)).toMatchObject({ turn: 'idle', turn_seq: turn_seq + 1 })
  })

  test('a module that was just loaded does not know the turn, so the registry supplies it', async () => {
    surface.close()
    surface = claudeSurface({
      ...{ session_id: 'session-1', mod: link, clock, log: silentLog, degraded: silentLog, respawned: false },
      onInterrupted: async () => {},
      drainsReleased: async () => {},
      isStopped: () => false,
      paths: { markLost() {}, unread: () => false, post: async () => 'sent' },
    })
    fakeModule(link, { busy: null })
    surface.registryRead({ status: 'idle' })
    await clock.advance(LIMITS.claude_registry_lag_ms)
    expect(await surface.status()).toMatchObject({ turn: 'idle', via: 'module' })
  })

  test('a turn that ended while its module was loaded again is ended by the registry', async () => {
    await reports(STARTED)
    surface.registryRead({ status: 'busy' })
    fakeModule(link, { busy: null })
    await clock.advance(LIMITS.claude_settle_ms)
    expect(await surface.status()).toMatchObject({ turn: 'busy', via: 'module' })
    surface.registryRead({ status: 'idle' })
    await clock.advance(LIMITS.claude_settle_ms)
    const status = await surface.status()
    expect([status.turn, status.via, status.interrupted]).toEqual(['idle', 'module', undefined])
  })

  test('an interrupt is reported at once, and the end of its turn after the drains are released', async () => {
    let release = () => {}
    onInterrupted = () => new Promise((done) => (release = done))
    await reports(STARTED, { kind: 'stopped' })
    expect(host.reports.at(-1)).toMatchObject({ turn: 'busy', interrupted: true })
    await reports(ended('aborted'))
    expect(await surface.status()).toMatchObject({ turn: 'busy' })
    release()
    await atRest()
    expect(host.reports.at(-1)).toMatchObject({ turn: 'idle', interrupted: true })
    await reports({ kind: 'prompt', origin: 'peer' })
    expect(await surface.status()).toMatchObject({ interrupted: true })
    await reports({ kind: 'prompt', origin: 'composer' })
    expect((await surface.status()).interrupted).toBeUndefined()
  })

  test('the end of a turn is reported after the drains of an earlier one are released', async () => {
    let release = () => {}
    drainsReleased = () => new Promise((done) => (release = done))
    await reports(STARTED, ended('answer'))
    expect(await surface.status()).toMatchObject({ turn: 'busy' })
    release()
    await atRest()
    expect(host.reports.at(-1)).toMatchObject({ turn: 'idle' })
  })

  test('a turn that begins before the end of an interrupted one waits for its drains, and outlives that end', async () => {
    let release = () => {}
    onInterrupted = () => new Promise((done) => (release = done))
    await reports(STARTED, { kind: 'stopped' }, { kind: 'turn_started', turn: 't2' })
    const { turn, turn_seq } = await surface.status()
    release()
    await atRest()
    expect(host.reports.at(-1)).toMatchObject({ turn: 'busy', turn_seq: turn_seq + 1 })
    await reports(ended('aborted'))
    expect([turn, (await surface.status()).turn]).toEqual(['busy', 'busy'])
    await reports({ kind: 'turn_ended', turn: 't2', reason: 'answer' })
    expect(host.reports.at(-1)).toMatchObject({ turn: 'idle', turn_seq: turn_seq + 1 })
  })

  test('a tool call is reported after the turns before it, or without the module after a while', async () => {
    const done: string[] = []
    const wait = (call: string) => void surface.callReported(call).then(() => done.push(call))
    let release = () => {}
    onInterrupted = () => new Promise((resolve) => (release = resolve))
    await reports(STARTED)
    wait('c1')
    wait('c2')
    await reports({ kind: 'turn_started', turn: 't2' }, { kind: 'tool_started', call: 'c1', tool: 'drain' })
    expect(done).toEqual([])
    release()
    await atRest()
    await surface.callReported('c1')
    expect(done).toEqual(['c1'])
    await clock.advance(LIMITS.mod_receipt_ms)
    expect(done).toEqual(['c1', 'c2'])
    link.markUnavailable('silent')
    await atRest()
    await surface.callReported('c3')
  })

  test('events that wait for the hub are all of the turn, and a limited number of tool calls', async () => {
    let release = () => {}
    onInterrupted = () => new Promise((resolve) => (release = resolve))
    await reports(STARTED, ended('aborted'), { kind: 'turn_started', turn: 't2' })
    const { turn_seq } = await surface.status()
    const calls = Array.from({ length: LIMITS.mod_calls_waiting_max + 1 }, (_, n) => `c${n}`)
    const done: string[] = []
    await reports(...calls.map((call) => ({ kind: 'tool_started', call, tool: 'drain' }) as const))
    await reports({ kind: 'turn_ended', turn: 't2', reason: 'answer' })
    release()
    await atRest()
    for (const call of calls.slice(-2)) void surface.callReported(call).then(() => done.push(call))
    await atRest()
    expect(done).toEqual(calls.slice(-2, -1))
    expect(await surface.status()).toMatchObject({ turn: 'idle', turn_seq: turn_seq + 1 })
    await reports({ kind: 'tool_started', call: calls.at(-1) ?? '', tool: 'drain' })
    expect(done).toEqual(calls.slice(-2))
  })

  test('a module that attaches in a turn continues it, whatever it reported before', async () => {
    link.markUnavailable('silent')
    await atRest()
    onInterrupted = () => expect.unreachable()
    await surface.hookFired(turnEvent('UserPromptSubmit', { prompt: 'hello' }))
    const { turn_seq } = await surface.status()
    module = fakeModule(link, { busy: true, turn: 't2', past: 3 })
    await reports(STARTED, ended('answer'), { kind: 'turn_started', turn: 't2' })
    expect(await surface.status()).toMatchObject({ turn: 'busy', turn_seq, via: 'module' })
    await reports({ kind: 'turn_ended', turn: 't2', reason: 'answer' })
    expect(await surface.status()).toMatchObject({ turn: 'idle', turn_seq })
  })

  test('a module that attaches after an interrupt ends the turn when its drains are released', async () => {
    link.markUnavailable('silent')
    await atRest()
    let release = () => {}
    onInterrupted = () => new Promise((done) => (release = done))
    await surface.hookFired(turnEvent('UserPromptSubmit', { prompt: 'hello' }))
    fakeModule(link, { busy: false })
    await atRest()
    expect(await surface.status()).toMatchObject({ turn: 'busy' })
    release()
    await atRest()
    expect(await surface.status()).toMatchObject({ turn: 'idle', via: 'module' })
  })

  test('a ring is confirmed with the turn that it begins, in either order of the two reports', async () => {
    for (const turn_first of [false, true]) {
      const bell = doorbell()
      const ringing = surface.notify_surface(bell)
      await module.wait()
      const entered = { kind: 'bell', doorbell_id: bell.doorbell_id } as const
      const { turn_seq } = await surface.status()
      await reports(...(turn_first ? [STARTED, entered] : [entered, STARTED]))
      expect(await ringing).toEqual({ accepted: true, proof: 'confirmed' })
      const receipts = host.reports.filter(({ seen_doorbell_id }) => seen_doorbell_id === bell.doorbell_id)
      expect(new Set(receipts.map((report) => report.turn_seq))).toEqual(new Set([turn_seq + 1]))
      await reports(ended('answer'))
    }
    expect(posted).toEqual([])
  })

  test('a doorbell whose prompt comes before the end of the turn before it is outstanding until its own turn', async () => {
    await surface.hookFired(turnEvent('UserPromptSubmit', { prompt: 'hello', prompt_id: 'p1' }))
    await reports(STARTED, { kind: 'stopped' }, ended('aborted'))
    const bell = doorbell()
    await surface.notify_surface(bell)
    await reports({ ...STARTED, turn: 't2' })
    await surface.hookFired(turnEvent('PostToolBatch', { prompt_id: 'p2' }))
    await surface.hookFired(turnEvent('UserPromptSubmit', { prompt: bell.text, prompt_id: 'p3' }))
    await reports({ kind: 'turn_ended', turn: 't2', reason: 'answer' })
    expect(host.reports.at(-1)).toMatchObject({ turn: 'idle', outstanding_doorbell_id: bell.doorbell_id })
    await reports({ ...STARTED, turn: 't3' })
    const { outstanding_doorbell_id, seen_doorbell_id } = await surface.status()
    expect([outstanding_doorbell_id, seen_doorbell_id]).toEqual([undefined, bell.doorbell_id])
  })

  test('a dropped ring is deferred and no longer outstanding', async () => {
    for (const dropped of ['busy', 'dequeued', 'stopped'] as const) {
      const bell = doorbell()
      const ringing = surface.notify_surface(bell)
      await module.wait()
      await reports({ kind: 'bell', doorbell_id: bell.doorbell_id, dropped })
      expect(await ringing).toEqual({ accepted: false, proof: 'deferred' })
      const status = await surface.status()
      expect([status.outstanding_doorbell_id, status.interrupted]).toEqual([
        undefined,
        dropped === 'stopped' ? true : undefined,
      ])
    }
  })

  test('a ring that uses the inbox stays outstanding, and waits for the turn that begins', async () => {
    await reports(STARTED, ended('answer'))
    const bell = doorbell()
    const ringing = surface.notify_surface(bell)
    await module.wait()
    await reports({ kind: 'bell', doorbell_id: bell.doorbell_id, dropped: 'stopped' })
    await ringing
    expect((await surface.status()).outstanding_doorbell_id).toBe(bell.doorbell_id)
    posted = []
    await reports({ ...STARTED, turn: 't2' })
    await surface.hookFired(turnEvent('UserPromptSubmit', { prompt: bell.text }))
    await reports({ ...ended('answer'), turn: 't2' })
    surface.registryRead({ status: 'busy' })
    const next = doorbell()
    const deferred = surface.notify_surface(next)
    await module.wait()
    await reports({ kind: 'bell', doorbell_id: next.doorbell_id, dropped: 'stopped' })
    await reports({ kind: 'turn_started', turn: 't3' })
    expect([await deferred, posted]).toEqual([{ accepted: false, proof: 'deferred' }, []])
  })

  test('a ring that the module does not fetch uses the inbox', async () => {
    const bell = doorbell()
    const ringing = surface.notify_surface(bell)
    await clock.advance(LIMITS.mod_receipt_ms)
    expect(await ringing).toEqual({ accepted: true, proof: 'sent' })
    expect(posted).toEqual([bell.text])
    expect(await module.wait([], AbortSignal.abort())).toEqual({})
  })

  test('a turn whose end may be among the missing events is ended by the registry', async () => {
    await reports(STARTED)
    surface.registryRead({ status: 'busy' })
    surface.modDropped()
    await clock.advance(LIMITS.claude_settle_ms)
    expect(await surface.status()).toMatchObject({ turn: 'busy' })
    surface.registryRead({ status: 'idle' })
    await clock.advance(LIMITS.claude_settle_ms)
    expect(await surface.status()).toMatchObject({ turn: 'idle', via: 'module' })
  })

  test('a ring that the client refuses after a turn that ended by itself uses the inbox', async () => {
    await reports(STARTED, ended('answer'))
    const bell = doorbell()
    const ringing = surface.notify_surface(bell)
    await module.wait()
    await reports({ kind: 'bell', doorbell_id: bell.doorbell_id, dropped: 'stopped' })
    expect(await ringing).toEqual({ accepted: true, proof: 'sent' })
    expect(posted).toEqual([bell.text])
    expect((await surface.status()).interrupted).toBeUndefined()
  })

  test('a ring after an interrupt uses the inbox, because the client takes none from a module', async () => {
    await reports(STARTED, { kind: 'stopped' }, ended('aborted'))
    const bell = doorbell()
    expect(await surface.notify_surface(bell)).toEqual({ accepted: true, proof: 'sent' })
    expect(posted).toEqual([bell.text])
    await surface.hookFired(turnEvent('UserPromptSubmit', { prompt: bell.text }))
    await reports(STARTED)
    expect(await surface.status()).toMatchObject({ seen_doorbell_id: bell.doorbell_id })
  })
})

describe('presence', () => {
  const ASKS = { kind: 'waiting_started', call: 'c1', tool: 'Bash', why: 'needs approval' } as const
  const presences = () => host.reports.map(({ presence }) => presence)

  test('what the client asks its person is reported at once, and its end, without another turn', async () => {
    await reports(STARTED)
    const { turn, turn_seq } = await surface.status()
    const before = host.reports.length
    await reports(ASKS, { kind: 'waiting_ended', call: 'c1' })
    expect(host.reports.slice(before)).toMatchObject([
      { turn, turn_seq, presence: { waiting: [{ tool: 'Bash', why: 'needs approval' }] } },
      { turn, turn_seq, presence: { waiting: [] } },
    ])
  })

  test('events that change nothing shown are not reported', async () => {
    await reports(STARTED, { kind: 'measured', tokens: 5, window: 10, cost_usd: 0.5 })
    const before = host.reports.length
    await reports(
      { kind: 'tool_started', call: 'c2', tool: 'Read' },
      { kind: 'tool_ended', call: 'c2', ms: 3 },
      { kind: 'measured', tokens: 5, window: 10, cost_usd: 0.5 },
      { kind: 'agent_ended', agent: 'unknown' },
    )
    expect(host.reports).toHaveLength(before)
  })

  test('a wait is shown while the hub is away, which delays the end of an interrupted turn', async () => {
    onInterrupted = () => new Promise(() => {})
    await reports(STARTED, { kind: 'stopped' }, ended('aborted'), { ...ASKS, agent: 'a1' })
    expect(host.reports.at(-1)).toMatchObject({ turn: 'busy', presence: { waiting: [{ agent: 'a1' }] } })
  })

  const GREETED = {
    ...{ turn: 't1', past: 5 },
    waiting: [{ call: 'c1', tool: 'Bash', at: 0 }],
    agents: [{ agent: 'a1', type: 'Explore', at: 1_000 }],
  }

  test('a greeting contains what waits and runs, and past events do not undo it', async () => {
    link.markUnavailable('silent')
    module = fakeModule(link, { busy: true, ...GREETED })
    await reports(
      { kind: 'agent_started', agent: 'a0' },
      { kind: 'agent_ended', agent: 'a1' },
      { kind: 'waiting_ended', call: 'c1' },
      ended('answer'),
      { kind: 'measured', tokens: 5 },
    )
    expect(presences().at(-1)).toMatchObject({
      waiting: [
        { for: 'permission', tool: 'Bash', why: null, agent: null, since: '1970-01-01T00:00:00.000Z' },
      ],
      agents: [{ agent: 'a1', parent: null, type: 'Explore', task: null, since: '1970-01-01T00:00:01.000Z' }],
      tokens: 5,
    })
    await reports({ kind: 'waiting_ended', call: 'c1' }, { kind: 'agent_ended', agent: 'a1' })
    expect(presences().at(-1)).toMatchObject({ waiting: [], agents: [] })
  })

  test('the late end of an interrupted turn does not end what the greeted turn waits for', async () => {
    module = fakeModule(link, { busy: true, ...GREETED, turn: 't2', past: 0 })
    await reports(ended('aborted'))
    expect(presences().at(-1)).toMatchObject({ waiting: [{ tool: 'Bash' }] })
  })

  test('a module that is loaded again, one that dropped events, and a module that is gone show nothing of before', async () => {
    await reports(ASKS)
    link.events({ epoch: module.epoch(), lost: 1, events: [] })
    expect(presences().at(-1)).toMatchObject({ waiting: [] })
    await reports(ASKS)
    module = fakeModule(link, { busy: true })
    await atRest()
    expect(presences().at(-1)).toMatchObject({ waiting: [] })
    await reports(ASKS)
    expect(presences().at(-1)).toMatchObject({ waiting: [{ tool: 'Bash' }] })
    await reports({ kind: 'ended' })
    expect(host.reports.at(-1)).toMatchObject({ via: 'hooks: ended' })
    expect(presences().at(-1)).toBeUndefined()
  })

  test('a primer that was not found after a compaction is a warning', async () => {
    await reports({ kind: 'compacted', before: 9, after: 1 }, { kind: 'restored', found: true })
    expect(warnings).toEqual([])
    expect(presences().at(-1)).toMatchObject({ last_compaction: { restored: true } })
    await reports({ kind: 'compacted', before: 9, after: 1 }, { kind: 'restored', found: false })
    expect(warnings).toEqual(['the agent was not shown the primer after a compaction'])
  })
})

test('a session without a window is reported by hooks', async () => {
  expect(link.hello({ ...HELLO, interactive: false })).toMatchObject({ mode: 'off', reason: 'headless' })
  await atRest()
  expect(await surface.status()).toMatchObject({ via: 'hooks: headless' })
  const bell = doorbell()
  expect(await surface.notify_surface(bell)).toEqual({ accepted: true, proof: 'sent' })
  expect(posted).toEqual([bell.text])
})

describe('after the module is gone', () => {
  test('hooks and registry report the turn as it is, and status names the reason', async () => {
    await reports(STARTED, { kind: 'ended' })
    expect(await surface.status()).toMatchObject({ turn: 'busy', via: 'hooks: ended' })
    host.ready = { doorbell: doorbell() }
    expect(await surface.stopped(turnEvent('Stop'), () => false)).not.toBeNull()
  })

  test('a turn that only hooks showed before is counted, as it is', async () => {
    const { turn_seq } = await surface.status()
    await surface.hookFired(turnEvent('UserPromptSubmit', { prompt_id: 'p1', prompt: 'hello' }))
    expect(await surface.status()).toMatchObject({ turn: 'idle', turn_seq })
    await clock.advance(LIMITS.mod_silent_ms)
    expect(await surface.status()).toMatchObject({ turn: 'busy', turn_seq: turn_seq + 1 })
  })

  test('a turn that hooks showed to its end is reported as run and over', async () => {
    const { turn_seq } = await surface.status()
    await surface.hookFired(turnEvent('UserPromptSubmit', { prompt_id: 'p1', prompt: 'hello' }))
    await surface.hookFired(turnEvent('PreToolUse', { prompt_id: 'p1' }))
    expect(await surface.stopped(turnEvent('Stop', { prompt_id: 'p1' }), () => false)).toBeNull()
    let releases = 0
    drainsReleased = async () => void releases++
    await clock.advance(LIMITS.mod_silent_ms)
    await atRest()
    const after = { turn_seq: turn_seq + 1, via: 'hooks: silent' }
    expect(host.reports.slice(-2)).toMatchObject([
      { turn: 'busy', ...after },
      { turn: 'idle', ...after },
    ])
    expect(host.reports.at(-1)?.interrupted).toBeUndefined()
    expect(releases).toBe(1)
  })

  test('a turn whose end only a hook showed is over, and not interrupted', async () => {
    await surface.hookFired(turnEvent('UserPromptSubmit', { prompt_id: 'p1', prompt: 'hello' }))
    surface.registryRead({ status: 'busy' })
    await reports(STARTED)
    const { turn_seq } = await surface.status()
    expect(await surface.stopped(turnEvent('Stop', { prompt_id: 'p1' }), () => false)).toBeNull()
    surface.registryRead({ status: 'idle' })
    await clock.advance(LIMITS.mod_silent_ms + LIMITS.claude_settle_ms)
    expect(host.reports.at(-1)).toMatchObject({ turn: 'idle', turn_seq, via: 'hooks: silent' })
    expect(host.reports.at(-1)?.interrupted).toBeUndefined()
  })

  test('a turn that goes on after a Stop hook is not over', async () => {
    await surface.hookFired(turnEvent('UserPromptSubmit', { prompt_id: 'p1', prompt: 'hello' }))
    await reports(STARTED)
    expect(await surface.stopped(turnEvent('Stop', { prompt_id: 'p1' }), () => false)).toBeNull()
    await surface.hookFired(turnEvent('PostToolUse', { prompt_id: 'p1' }))
    await clock.advance(LIMITS.mod_silent_ms)
    expect(await surface.status()).toMatchObject({ turn: 'busy', via: 'hooks: silent' })
  })

  test.each(['is loaded again', 'dropped events'])(
    'a turn that only hooks showed is counted when the module %s',
    async (how) => {
      await reports(STARTED, ended('answer'))
      const { turn_seq } = await surface.status()
      await surface.hookFired(turnEvent('UserPromptSubmit', { prompt_id: 'p1', prompt: 'hello' }))
      expect(await surface.stopped(turnEvent('Stop', { prompt_id: 'p1' }), () => false)).toBeNull()
      if (how === 'is loaded again') module = fakeModule(link, { busy: false })
      else link.events({ epoch: module.epoch(), lost: 1, events: [] })
      await atRest()
      expect(await surface.status()).toMatchObject({ turn: 'idle', turn_seq: turn_seq + 1, via: 'module' })
    },
  )

  test('a doorbell that the module had is not rung again while it may still begin a turn', async () => {
    const bell = doorbell()
    const ringing = surface.notify_surface(bell)
    await module.wait()
    await reports({ kind: 'ended' })
    expect(await ringing).toEqual({ accepted: true, proof: 'sent' })
    expect(await surface.notify_surface(doorbell())).toEqual({ accepted: false, proof: 'deferred' })
    await clock.advance(LIMITS.claude_bell_lost_ms)
    expect(await surface.notify_surface(doorbell())).toMatchObject({ accepted: true })
    expect(posted).toHaveLength(1)
  })
})
