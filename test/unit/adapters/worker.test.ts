/** What the worker makes of the client's calls: hooks, drains, and who may make them. */
import fs from 'node:fs'
import path from 'node:path'
import { beforeEach, describe, expect, test } from 'vitest'
import type { ClaudeSurface } from '../../../adapters/claude-code/claude-surface.ts'
import { createWorker, type Worker, type WorkerCall } from '../../../adapters/claude-code/worker.ts'
import type { TurnEvent } from '../../../adapters/claude-code/turn-events.ts'
import type { Doorbell } from '../../../src/contracts/doorbell.ts'
import { TurnbellError } from '../../../src/contracts/errors.ts'
import { LIMITS } from '../../../src/contracts/limits.ts'
import { silentLog } from '../../../src/ports/log.ts'
import { doorbell } from '../../support/doorbells.ts'
import { atRest, fakeClock, type FakeClock } from '../../support/fake-clock.ts'

const DRAIN = 'signals_pending'
const HUB_TOOL = `mcp__plugin_turnbell_hub__${DRAIN}`

interface Frame {
  params: { name: string; arguments: Record<string, unknown>; _meta: Record<string, unknown> }
}
const FRAMES = JSON.parse(
  fs.readFileSync(
    path.resolve(import.meta.dirname, '../../fixtures/claude-code/2.1.329/tool-calls.json'),
    'utf8',
  ),
) as Record<'main' | 'subagent' | 'hook', Frame>

let fired: TurnEvent[]
let bell: Doorbell | null
/** Whether the answer to it was gone already, of every Stop that the surface was told. */
let stops: { aborted: boolean }[]
let continued: Doorbell[]
let confirmed: string[]
let released: string[]
let clock: FakeClock
/** Resolves once the hub has been told everything. */
let told: Promise<void>
let worker: Worker

function start(respawned = false): void {
  fired = []
  bell = null
  stops = []
  continued = []
  confirmed = []
  released = []
  clock = fakeClock()
  told = Promise.resolve()
  const surface: Pick<ClaudeSurface, 'hookFired' | 'stopped' | 'continuedWith'> = {
    hookFired: async (event) => void fired.push(event),
    stopped: async (_, aborted) => {
      stops.push({ aborted: aborted() })
      return bell
    },
    continuedWith: (given) => void continued.push(given),
  }
  worker = createWorker({
    surface,
    drains: {
      confirm: (drain_id) => void confirmed.push(drain_id),
      release: (signal_ids) => void released.push(...signal_ids),
      settled: () => told,
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

describe('the frames that the client was seen to send', () => {
  const asCall = ({ params }: Frame) => call(params.name, params.arguments, params._meta)

  test('a hook is answered with an empty output', async () => {
    expect(await worker.answer(asCall(FRAMES.hook))).toEqual({})
  })

  test('a drain of the main agent goes to the hub', async () => {
    const { params } = FRAMES.main
    await announce(String(params._meta['claudecode/toolUseId']))
    expect(await worker.answer(asCall(FRAMES.main))).toBeNull()
  })

  test('a drain of a subagent is refused, although it looks the same', async () => {
    const { params } = FRAMES.subagent
    await announce(String(params._meta['claudecode/toolUseId']), 'a1')
    expect(await refusal(worker.answer(asCall(FRAMES.subagent)))).toBe('subagent_forbidden')
  })
})

describe('a turn event', () => {
  test('from a model is forged, and refused', async () => {
    const forged = call('turn_event', { event: 'Stop' }, { 'claudecode/toolUseId': 'toolu_1' })
    expect(await refusal(worker.answer(forged))).toBe('kind_forbidden')
    expect(fired).toEqual([])
  })

  test('of a subagent moves nothing', async () => {
    await hook('UserPromptSubmit', { agent_id: 'a1' })
    bell = doorbell()
    expect(await hook('Stop', { agent_id: 'a1' })).toEqual({})
    expect(fired).toEqual([])
  })

  test.each([[{}], [{ event: 7 }], [{ event: 'Stop', session_id: 5 }]])(
    'in a strange form (%j) is answered and passed over',
    async (args) => {
      expect(await worker.answer(call('turn_event', args))).toEqual({})
      expect(fired).toEqual([])
    },
  )
})

describe('the end of a turn', () => {
  test('carries the bell that is due, and is a new turn once the answer has left', async () => {
    bell = doorbell()
    const stop = call('turn_event', { event: 'Stop', session_id: 's1' })
    expect(await worker.answer(stop)).toEqual({
      hookSpecificOutput: { hookEventName: 'Stop', additionalContext: bell.text },
    })
    expect(continued).toEqual([])
    worker.answerWritten(stop)
    expect(continued).toEqual([bell])
  })

  test('is silent when none is due', async () => {
    const stop = call('turn_event', { event: 'Stop', session_id: 's1' })
    expect(await worker.answer(stop)).toEqual({})
    worker.answerWritten(stop)
    expect(continued).toEqual([])
  })

  test('is no new turn when the client gave the hook up before the answer left', async () => {
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
  /** Announced in that turn, made, and answered. */
  async function drainedIn(prompt_id: string): Promise<void> {
    await announce('toolu_1', '', HUB_TOOL, prompt_id)
    const made = call(DRAIN, {}, { 'claudecode/toolUseId': 'toolu_1' })
    await worker.answer(made)
    worker.drainWritten(made, { drain_id: 'drain-1', signal_ids: ['signal-of-drain-1'] })
  }

  test('is confirmed at the end of its turn, not at the end of its batch of calls', async () => {
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

  test('is confirmed by the interrupt of its turn after the end of its batch: it stays in the conversation', async () => {
    await drainedIn('turn-1')
    await used('toolu_1', 'turn-1')
    await hook('PostToolBatch', { prompt_id: 'turn-1' })
    expect(confirmed).toEqual([])
    await worker.interrupted()
    expect([confirmed, released]).toEqual([['drain-1'], []])
  })

  test('is confirmed by the first hook of a later turn after the end of its batch', async () => {
    await drainedIn('turn-1')
    await used('toolu_1', 'turn-1')
    await hook('PostToolBatch', { prompt_id: 'turn-1' })
    await hook('PreToolUse', { tool_use_id: 'toolu_2', tool_name: 'Bash', prompt_id: 'turn-2' })
    expect([confirmed, released]).toEqual([['drain-1'], []])
  })

  test('is released by an interrupt after the batch of a subagent, or of a batch that it was not part of', async () => {
    written('toolu_1')
    await hook('PostToolBatch')
    await used('toolu_1')
    await hook('PostToolBatch', { agent_id: 'a1' })
    await worker.interrupted()
    expect([confirmed, released]).toEqual([[], ['signal-of-drain-1']])
  })

  test.each(['Stop', 'StopFailure'])('is confirmed by %s when those hooks never came', async (end) => {
    written('toolu_1')
    await hook(end)
    expect(confirmed).toEqual(['drain-1'])
  })

  test.each([false, true])('of an interrupted turn goes back, used (%s) or not', async (was_used) => {
    written('toolu_1')
    written('toolu_2', 'drain-2')
    if (was_used) await used('toolu_1')
    await worker.interrupted()
    expect(released).toEqual(['signal-of-drain-1', 'signal-of-drain-2'])
    await hook('Stop')
    expect(confirmed).toEqual([])
  })

  test.each([false, true])(
    'of an interrupted turn behind which a prompt waited goes back, used (%s) or not',
    async (was_used) => {
      await drainedIn('turn-1')
      if (was_used) await used('toolu_1', 'turn-1')
      // It was typed during the turn, so it bears the name of that.
      await hook('UserPromptSubmit', { prompt_id: 'turn-1' })
      expect(released).toEqual([])
      await hook('PostToolBatch', { prompt_id: 'turn-2' })
      await hook('Stop', { prompt_id: 'turn-2' })
      expect([confirmed, released]).toEqual([[], ['signal-of-drain-1']])
    },
  )

  test('that goes back holds up every hook, not only the one that found it', async () => {
    let settle!: () => void
    told = new Promise<void>((resolve) => (settle = resolve))
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

  test('of a turn in which somebody typed is confirmed with the end of that turn', async () => {
    await drainedIn('turn-1')
    await used('toolu_1', 'turn-1')
    await hook('UserPromptSubmit', { prompt_id: 'turn-1' })
    await hook('PostToolBatch', { prompt_id: 'turn-1' })
    expect([confirmed, released]).toEqual([[], []])
    await hook('Stop', { prompt_id: 'turn-1' })
    expect([confirmed, released]).toEqual([['drain-1'], []])
  })

  test('that goes back is waited for however long that takes: an end that is told makes it final', async () => {
    told = new Promise<void>(() => {})
    written('toolu_1')
    let over = false
    void worker.interrupted().then(() => (over = true))
    await clock.advance(60_000)
    expect(over).toBe(false)
  })

  describe('that does not get back in the time that a hook may take', () => {
    let settle!: () => void
    beforeEach(async () => {
      await drainedIn('turn-1')
      told = new Promise<void>((resolve) => (settle = resolve))
      fired = []
    })

    test('keeps no hook waiting longer, but nobody hears of what that one told', async () => {
      let answer: unknown = null
      void hook('PostToolBatch', { prompt_id: 'turn-2' }).then((output) => (answer = output))
      await clock.advance(LIMITS.give_back_wait_ms - 1)
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

    test('gives no bell with a Stop: its answer is gone when the end of the turn is told', async () => {
      bell = doorbell()
      let answer: unknown = null
      void hook('Stop', { prompt_id: 'turn-2' }).then((output) => (answer = output))
      await clock.advance(LIMITS.give_back_wait_ms)
      expect([answer, stops]).toEqual([{}, []])
      settle()
      await atRest()
      expect(stops).toEqual([{ aborted: true }])
    })

    test('leaves the next drain to its turn, in the order in which it came', async () => {
      const announced = announce('toolu_2', '', HUB_TOOL, 'turn-2')
      await clock.advance(LIMITS.give_back_wait_ms)
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
  ])('goes back where %s %j is the first to tell that its turn is over', async (event, fields) => {
    await drainedIn('turn-1')
    await hook('Notification', { notification_type: 'auth_success' })
    await hook('SessionStart', { source: 'compact' })
    expect(released).toEqual([])
    await hook(event, fields)
    expect([confirmed, released]).toEqual([[], ['signal-of-drain-1']])
  })

  test('of a client that marks no calls is confirmed at once', () => {
    worker.drainWritten(call(DRAIN), { drain_id: 'drain-1', signal_ids: [] })
    expect(confirmed).toEqual(['drain-1'])
  })

  test('of a client that tells no hooks is confirmed at once: nothing would ever say that it was read', async () => {
    start()
    written('toolu_1')
    expect(confirmed).toEqual(['drain-1'])
    await worker.interrupted()
    expect(released).toEqual([])
  })

  test('the main agent needs no permission for its own queue, a subagent gets none', async () => {
    const decision = (output: unknown) =>
      (output as { hookSpecificOutput?: { permissionDecision: string } }).hookSpecificOutput
        ?.permissionDecision
    expect(decision(await announce('toolu_1'))).toBe('allow')
    expect(decision(await announce('toolu_2', 'a1'))).toBe('deny')
    expect(decision(await announce('toolu_3', '', 'mcp__plugin_turnbell_hub__git'))).toBeUndefined()
  })

  test('a subagent may use other tools, and is named to the hub', async () => {
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
  test.each(OTHER_NAMES)('by %s %j is refused to a subagent too', async (name, args) => {
    const asked = () => call(name, args, { 'claudecode/toolUseId': 'toolu_1' })
    await announce('toolu_1', 'a1', `mcp__plugin_turnbell_hub__${name}`)
    expect(await refusal(worker.answer(asked()))).toBe('subagent_forbidden')
    await announce('toolu_1', '', `mcp__plugin_turnbell_hub__${name}`)
    expect(await worker.answer(asked())).toBeNull()
  })

  test.each(OTHER_NAMES)(
    'by %s %j that was announced to a worker that died is asked for once more',
    async (name, args) => {
      start(true)
      const asked = call(name, args, { 'claudecode/toolUseId': 'toolu_1' })
      expect(await refusal(worker.answer(asked))).toBe('subagent_forbidden')
    },
  )

  test('that no hook announced is let through where hooks were never seen', async () => {
    start()
    expect(await drain('toolu_1')).toBeNull()
  })

  test('that was announced to a worker that died is asked for once more', async () => {
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

  test('announcements that never came true are forgotten, the oldest first', async () => {
    for (let n = 0; n < 100; n++) await announce(`toolu_${n}`)
    expect(await refusal(drain('toolu_0'))).toBe('subagent_forbidden')
    expect(await drain('toolu_99')).toBeNull()
  })
})
