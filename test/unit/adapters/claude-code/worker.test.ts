/** The worker's handling of hooks and drains, and of their callers. */
import fs from 'node:fs'
import path from 'node:path'
import { beforeEach, describe, expect, test } from 'vitest'
import type { ClaudeSurface } from '../../../../adapters/claude-code/claude-surface.ts'
import { createWorker, type Worker, type WorkerCall } from '../../../../adapters/claude-code/worker.ts'
import type { TurnEvent } from '../../../../adapters/claude-code/turn-events.ts'
import type { Doorbell } from '../../../../src/contracts/doorbell.ts'
import { TurnbellError } from '../../../../src/contracts/errors/errors.ts'
import { LIMITS } from '../../../../src/contracts/limits/limits.ts'
import { silentLog } from '../../../../src/ports/log.ts'
import { doorbell } from '../../../support/doorbells.ts'
import { atRest, fakeClock, type FakeClock } from '../../../support/fakes/fake-clock.ts'

const DRAIN = 'signals_pending'
const HUB_TOOL = `mcp__plugin_turnbell_hub__${DRAIN}`

interface Frame {
  params: { name: string; arguments: Record<string, unknown>; _meta: Record<string, unknown> }
}
const FRAMES = JSON.parse(
  fs.readFileSync(
    path.resolve(import.meta.dirname, '../../../fixtures/claude-code/2.1.329/tool-calls.json'),
    'utf8',
  ),
) as Record<'main' | 'subagent' | 'hook', Frame>

let fired: TurnEvent[]
let bell: Doorbell | null
/** For every Stop passed to the surface: whether its hook was aborted. */
let stops: { aborted: boolean }[]
let continued: Doorbell[]
let confirmed: string[]
let released: string[]
let clock: FakeClock
/** Resolves when the hub has received all releases. */
let settled: Promise<void>
/** Resolves when the module has reported the call. */
let reported: Promise<void>
let worker: Worker

function start(respawned = false): void {
  fired = []
  bell = null
  stops = []
  continued = []
  confirmed = []
  released = []
  clock = fakeClock()
  settled = Promise.resolve()
  reported = Promise.resolve()
  const surface: Pick<ClaudeSurface, 'hookFired' | 'stopped' | 'continuedWith' | 'callReported'> = {
    hookFired: async (event) => void fired.push(event),
    stopped: async (_, aborted) => {
      stops.push({ aborted: aborted() })
      return bell
    },
    continuedWith: (given) => void continued.push(given),
    callReported: () => reported,
  }
  worker = createWorker({
    surface,
    drains: {
      confirm: (drain_id) => void confirmed.push(drain_id),
      release: (signal_ids) => void released.push(...signal_ids),
      settled: () => settled,
    },
    clock,
    respawned,
    log: silentLog,
  })
}
beforeEach(() => start())

const call = (
  name: string,
  args: Record<string, unknown> = {},
  meta: Record<string, unknown> = {},
): WorkerCall => ({
  name,
  args,
  meta,
  signal: new AbortController().signal,
})
const hook = (event: string, fields: Record<string, unknown> = {}) =>
  worker.answer(call('turn_event', { event, session_id: 's1', agent_id: '', ...fields }))
const announce = (tool_use_id: string, agent_id = '', tool_name = HUB_TOOL, prompt_id = '') =>
  hook('PreToolUse', { tool_use_id, agent_id, tool_name, prompt_id })
const drain = (tool_use_id: string) => worker.answer(call(DRAIN, {}, { 'claudecode/toolUseId': tool_use_id }))
const refusal = async (answer: Promise<unknown>) => {
  const error: unknown = await answer.then(
    () => null,
    (thrown: unknown) => thrown,
  )
  return error instanceof TurnbellError ? error.code : error
}

describe('the captured frames', () => {
  const asCall = ({ params }: Frame) => call(params.name, params.arguments, params._meta)

  test('a hook is answered with an empty output', async () => {
    expect(await worker.answer(asCall(FRAMES.hook))).toEqual({})
  })

  test('a drain of the main agent is forwarded to the hub', async () => {
    const { params } = FRAMES.main
    await announce(String(params._meta['claudecode/toolUseId']))
    expect(await worker.answer(asCall(FRAMES.main))).toBeNull()
  })

  test('a drain of a subagent is rejected although its frame looks the same', async () => {
    const { params } = FRAMES.subagent
    await announce(String(params._meta['claudecode/toolUseId']), 'a1')
    expect(await refusal(worker.answer(asCall(FRAMES.subagent)))).toBe('subagent_forbidden')
  })
})

describe('a turn event', () => {
  test('a turn event from a model is rejected', async () => {
    const forged = call('turn_event', { event: 'Stop' }, { 'claudecode/toolUseId': 'toolu_1' })
    expect(await refusal(worker.answer(forged))).toBe('kind_forbidden')
    expect(fired).toEqual([])
  })

  test('a turn event of a subagent changes nothing', async () => {
    await hook('UserPromptSubmit', { agent_id: 'a1' })
    bell = doorbell()
    expect(await hook('Stop', { agent_id: 'a1' })).toEqual({})
    expect(fired).toEqual([])
  })

  test.each([[{}], [{ event: 7 }], [{ event: 'Stop', session_id: 5 }]])(
    'an invalid turn event (%j) is answered and ignored',
    async (args) => {
      expect(await worker.answer(call('turn_event', args))).toEqual({})
      expect(fired).toEqual([])
    },
  )
})

describe('the end of a turn', () => {
  test('the end of a turn carries a due doorbell, which begins a new turn when the response was written', async () => {
    bell = doorbell()
    const stop = call('turn_event', { event: 'Stop', session_id: 's1' })
    expect(await worker.answer(stop)).toEqual({
      hookSpecificOutput: { hookEventName: 'Stop', additionalContext: bell.text },
    })
    expect(continued).toEqual([])
    worker.answerWritten(stop)
    expect(continued).toEqual([bell])
  })

  test('the end of a turn without a due doorbell has an empty response', async () => {
    const stop = call('turn_event', { event: 'Stop', session_id: 's1' })
    expect(await worker.answer(stop)).toEqual({})
    worker.answerWritten(stop)
    expect(continued).toEqual([])
  })

  test('an aborted Stop hook begins no new turn', async () => {
    bell = doorbell()
    const abort = new AbortController()
    const stop = { ...call('turn_event', { event: 'Stop', session_id: 's1' }), signal: abort.signal }
    await worker.answer(stop)
    abort.abort()
    worker.answerWritten(stop)
    expect(continued).toEqual([])
  })
})

describe('a drain', () => {
  beforeEach(() => hook('UserPromptSubmit'))

  const written = (tool_use_id: string, drain_id = 'drain-1') =>
    worker.drainWritten(call(DRAIN, {}, { 'claudecode/toolUseId': tool_use_id }), {
      drain_id,
      signal_ids: [`signal-of-${drain_id}`],
    })
  const used = (tool_use_id: string, prompt_id = '') =>
    hook('PostToolUse', { tool_use_id, tool_name: HUB_TOOL, prompt_id })
  /** A drain that was announced, made and answered in that turn. */
  async function drainedIn(prompt_id: string): Promise<void> {
    await announce('toolu_1', '', HUB_TOOL, prompt_id)
    const made = call(DRAIN, {}, { 'claudecode/toolUseId': 'toolu_1' })
    await worker.answer(made)
    worker.drainWritten(made, { drain_id: 'drain-1', signal_ids: ['signal-of-drain-1'] })
  }

  test('a drain is sent when the module has reported its call, and other calls at once', async () => {
    let report = () => {}
    reported = new Promise((done) => (report = done))
    await announce('toolu_1')
    let answer: unknown
    void drain('toolu_1').then((found) => (answer = found))
    expect(await worker.answer(call('git'))).toBeNull()
    await atRest()
    expect(answer).toBeUndefined()
    report()
    await atRest()
    expect(answer).toBeNull()
  })

  test('a drain is confirmed at the end of its turn, not of its tool batch', async () => {
    await announce('toolu_1')
    await drain('toolu_1')
    written('toolu_1')
    await used('toolu_1')
    await hook('PostToolBatch')
    await hook('PostToolBatch')
    expect(confirmed).toEqual([])
    await hook('Stop')
    expect(confirmed).toEqual(['drain-1'])
    await worker.interrupted()
    expect(released).toEqual([])
  })

  test('a drain whose result the client discarded is released at the end of its tool batch', async () => {
    await drainedIn('turn-1')
    await hook('PostToolBatch', { prompt_id: 'turn-1' })
    expect(released).toEqual(['signal-of-drain-1'])
    // The turn goes on: the model is shown that a person interrupted the call.
    await hook('Stop', { prompt_id: 'turn-1' })
    expect(confirmed).toEqual([])
  })

  // A response counts as written once earlier input was handled, so the client's next messages may be handled first.
  test.each([true, false])(
    'a drain is used if it is written after its hook, or its batch: %s',
    async (in_batch) => {
      await announce('toolu_1', '', HUB_TOOL, 'turn-1')
      const made = call(DRAIN, {}, { 'claudecode/toolUseId': 'toolu_1' })
      await worker.answer(made)
      const written = () =>
        worker.drainWritten(made, { drain_id: 'drain-1', signal_ids: ['signal-of-drain-1'] })
      await used('toolu_1', 'turn-1')
      if (in_batch) written()
      await hook('PostToolBatch', { prompt_id: 'turn-1' })
      if (!in_batch) written()
      await worker.interrupted()
      expect([confirmed, released]).toEqual([['drain-1'], []])
    },
  )

  test('a drain is confirmed by an interrupt after the end of its tool batch', async () => {
    await drainedIn('turn-1')
    await used('toolu_1', 'turn-1')
    await hook('PostToolBatch', { prompt_id: 'turn-1' })
    expect(confirmed).toEqual([])
    await worker.interrupted()
    expect([confirmed, released]).toEqual([['drain-1'], []])
  })

  test('a drain is confirmed by the first hook of a later turn after the end of its tool batch', async () => {
    await drainedIn('turn-1')
    await used('toolu_1', 'turn-1')
    await hook('PostToolBatch', { prompt_id: 'turn-1' })
    await hook('PreToolUse', { tool_use_id: 'toolu_2', tool_name: 'Bash', prompt_id: 'turn-2' })
    expect([confirmed, released]).toEqual([['drain-1'], []])
  })

  test('a drain is released by an interrupt after the tool batch of a subagent or another batch', async () => {
    written('toolu_1')
    await hook('PostToolBatch')
    await used('toolu_1')
    await hook('PostToolBatch', { agent_id: 'a1' })
    await worker.interrupted()
    expect([confirmed, released]).toEqual([[], ['signal-of-drain-1']])
  })

  test.each(['Stop', 'StopFailure'])('a drain without PostToolUse hooks is confirmed by %s', async (end) => {
    written('toolu_1')
    await hook(end)
    expect(confirmed).toEqual(['drain-1'])
  })

  test.each([false, true])('a drain of an interrupted turn is released, used: %s', async (was_used) => {
    written('toolu_1')
    written('toolu_2', 'drain-2')
    if (was_used) await used('toolu_1')
    await worker.interrupted()
    expect(released).toEqual(['signal-of-drain-1', 'signal-of-drain-2'])
    await hook('Stop')
    expect(confirmed).toEqual([])
  })

  test.each([false, true])(
    'a drain of an interrupted turn with a queued prompt is released, used: %s',
    async (was_used) => {
      await drainedIn('turn-1')
      if (was_used) await used('toolu_1', 'turn-1')
      // Typed during the turn, so it carries that turn's id.
      await hook('UserPromptSubmit', { prompt_id: 'turn-1' })
      expect(released).toEqual([])
      await hook('PostToolBatch', { prompt_id: 'turn-2' })
      await hook('Stop', { prompt_id: 'turn-2' })
      expect([confirmed, released]).toEqual([[], ['signal-of-drain-1']])
    },
  )

  test('a release delays every hook, not only the one that caused it', async () => {
    let settle!: () => void
    settled = new Promise<void>((resolve) => (settle = resolve))
    await drainedIn('turn-1')
    fired = []
    const first = hook('PostToolBatch', { prompt_id: 'turn-2' })
    const second = hook('Notification', { prompt_id: 'turn-2' })
    await atRest()
    expect(fired).toEqual([])
    settle()
    await Promise.all([first, second])
    expect(fired.map(({ event }) => event)).toEqual(['PostToolBatch', 'Notification'])
  })

  test('a drain of a turn with a typed prompt is confirmed at the end of that turn', async () => {
    await drainedIn('turn-1')
    await used('toolu_1', 'turn-1')
    await hook('UserPromptSubmit', { prompt_id: 'turn-1' })
    await hook('PostToolBatch', { prompt_id: 'turn-1' })
    expect([confirmed, released]).toEqual([[], []])
    await hook('Stop', { prompt_id: 'turn-1' })
    expect([confirmed, released]).toEqual([['drain-1'], []])
  })

  test('a release is awaited without a limit before the end of a turn is reported', async () => {
    settled = new Promise<void>(() => {})
    written('toolu_1')
    let over = 0
    void worker.interrupted().then(() => over++)
    void worker.drainsReleased().then(() => over++)
    await clock.advance(60_000)
    expect(over).toBe(0)
  })

  describe('a drain whose release takes longer than a hook may', () => {
    let settle!: () => void
    beforeEach(async () => {
      await drainedIn('turn-1')
      settled = new Promise<void>((resolve) => (settle = resolve))
      fired = []
    })

    test('a slow release ends the hook in time and delays its effect', async () => {
      let answer: unknown = null
      void hook('PostToolBatch', { prompt_id: 'turn-2' }).then((output) => (answer = output))
      await clock.advance(LIMITS.release_wait_ms - 1)
      expect(answer).toBeNull()
      await clock.advance(1)
      expect([answer, fired]).toEqual([{}, []])
      await clock.advance(60_000)
      expect(fired).toEqual([])
      settle()
      await atRest()
      expect(fired.map(({ event }) => event)).toEqual(['PostToolBatch'])
      expect(clock.armed()).toBe(0)
    })

    test('a slow release leaves a Stop hook without a doorbell', async () => {
      bell = doorbell()
      let answer: unknown = null
      void hook('Stop', { prompt_id: 'turn-2' }).then((output) => (answer = output))
      await clock.advance(LIMITS.release_wait_ms)
      expect([answer, stops]).toEqual([{}, []])
      settle()
      await atRest()
      expect(stops).toEqual([{ aborted: true }])
    })

    test('a slow release keeps the order of later hooks', async () => {
      const announced = announce('toolu_2', '', HUB_TOOL, 'turn-2')
      await clock.advance(LIMITS.release_wait_ms)
      expect(await announced).toMatchObject({ hookSpecificOutput: { permissionDecision: 'allow' } })
      expect(await drain('toolu_2')).toBeNull()
      void hook('PostToolBatch', { prompt_id: 'turn-2' })
      settle()
      await atRest()
      expect(fired.map(({ event }) => event)).toEqual(['PreToolUse', 'PostToolBatch'])
    })
  })

  test.each([
    ['Notification', { notification_type: 'idle_prompt' }],
    ['SessionStart', { source: 'clear' }],
  ])('a drain is released if %s %j is the first sign of the end of its turn', async (event, fields) => {
    await drainedIn('turn-1')
    await hook('Notification', { notification_type: 'auth_success' })
    await hook('SessionStart', { source: 'compact' })
    expect(released).toEqual([])
    await hook(event, fields)
    expect([confirmed, released]).toEqual([[], ['signal-of-drain-1']])
  })

  test('a drain of a client without call ids is confirmed at once', () => {
    worker.drainWritten(call(DRAIN), { drain_id: 'drain-1', signal_ids: [] })
    expect(confirmed).toEqual(['drain-1'])
  })

  test('a drain of a client without hooks is confirmed at once', async () => {
    start()
    written('toolu_1')
    expect(confirmed).toEqual(['drain-1'])
    await worker.interrupted()
    expect(released).toEqual([])
  })

  test('a drain is allowed for the main agent and denied for a subagent', async () => {
    const decision = (output: unknown) =>
      (output as { hookSpecificOutput?: { permissionDecision: string } }).hookSpecificOutput
        ?.permissionDecision
    expect(decision(await announce('toolu_1'))).toBe('allow')
    expect(decision(await announce('toolu_2', 'a1'))).toBe('deny')
    expect(decision(await announce('toolu_3', '', 'mcp__plugin_turnbell_hub__git'))).toBeUndefined()
  })

  test('a subagent may use other tools, and its id is passed to the hub', async () => {
    await announce('toolu_1', 'a1', 'mcp__plugin_turnbell_hub__signals')
    const other = call('signals', { action: 'send' }, { 'claudecode/toolUseId': 'toolu_1' })
    expect(await worker.answer(other)).toBeNull()
    expect(other.meta['agent_id']).toBe('a1')
  })

  const OTHER_NAMES: [string, Record<string, unknown>][] = [
    ['signals', { action: 'pending' }],
    ['tool_invoke', { name: 'signals_pending' }],
    ['prism_signals_pending', {}],
  ]
  test.each(OTHER_NAMES)('a drain by %s %j is rejected for a subagent', async (name, args) => {
    const asked = () => call(name, args, { 'claudecode/toolUseId': 'toolu_1' })
    await announce('toolu_1', 'a1', `mcp__plugin_turnbell_hub__${name}`)
    expect(await refusal(worker.answer(asked()))).toBe('subagent_forbidden')
    await announce('toolu_1', '', `mcp__plugin_turnbell_hub__${name}`)
    expect(await worker.answer(asked())).toBeNull()
  })

  test.each(OTHER_NAMES)(
    'a drain by %s %j announced to a killed worker is rejected once',
    async (name, args) => {
      start(true)
      const asked = call(name, args, { 'claudecode/toolUseId': 'toolu_1' })
      expect(await refusal(worker.answer(asked))).toBe('subagent_forbidden')
    },
  )

  test('an unannounced drain is allowed if no hook was ever received', async () => {
    start()
    expect(await drain('toolu_1')).toBeNull()
  })

  test('a drain announced to a killed worker is rejected once', async () => {
    start(true)
    expect(await refusal(drain('toolu_1'))).toBe('subagent_forbidden')
    expect(await drain('toolu_2'), 'no hooks at all: it must not be locked out').toBeNull()

    start(true)
    await refusal(drain('toolu_1'))
    await announce('toolu_2', 'a1')
    expect(await refusal(drain('toolu_2'))).toBe('subagent_forbidden')
    await announce('toolu_3')
    expect(await drain('toolu_3')).toBeNull()
  })

  test('unused announcements are forgotten, oldest first', async () => {
    for (let n = 0; n < 100; n++) await announce(`toolu_${n}`)
    expect(await refusal(drain('toolu_0'))).toBe('subagent_forbidden')
    expect(await drain('toolu_99')).toBeNull()
  })
})
