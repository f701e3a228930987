/**
 * A simulated Claude Code, as measured with versions 2.1.329 and 2.1.332: turns, prompts, tool calls, interrupts, hooks,
 * the events for modules, and the session registry.
 *
 * - A prompt that is typed during a turn fires its hook at once. It enters that turn after a tool batch or starts the next
 *   turn, which has no UserPromptSubmit hook then.
 * - An interrupt fires no hook. The end of the turn follows; if a typed prompt waits, its turn begins before that end.
 * - An interrupt before the hook PostToolBatch discards the results of the batch.
 * - A prompt of a module waits while a turn runs, fires its hook when its turn begins, and is refused after an interrupt.
 * - A message in the inbox begins a turn, or enters the running one after a tool batch, which no hook reports.
 */
import type { SubmitResult } from '../../../../adapters/claude-code/mod/engine.ts'
import type { HookOutput } from '../../../../adapters/claude-code/worker.ts'
import type { RegistryRecord } from '../../../../adapters/claude-code/turn-events.ts'
import type { Drain } from '../../../../adapters/claude-code/unconfirmed-drains.ts'
import { pause as takes } from '../../../../src/ports/pause.ts'
import type { Dice } from '../../dice.ts'
import type { FakeClock } from '../fake-clock.ts'
import type { ModuleHook } from './simulated-module.ts'

export interface ClaudeWorld {
  clock: FakeClock
  dice: () => Dice
  note: (what: string) => void
  /** Resolves with null if the hook was lost or aborted. */
  hook: (fields: Record<string, string>, signal: AbortSignal) => Promise<HookOutput | null>
  /** Resolves with null if the call failed or was aborted. */
  drain: (tool_use_id: string, signal: AbortSignal) => Promise<Drain | null>
  /** Resolves when the module has handled the event, or the client goes on without it. */
  toModule: (hook: ModuleHook) => Promise<void>
  registryWritten: () => void
  /** The model is shown the text of a doorbell. */
  shown: (text: string) => void
  drainsEnded: (drain_ids: readonly string[], fate: 'kept' | 'discarded') => void
  cleared: () => void
  /** The turn changed. */
  changed: () => void
}

interface RunningTurn {
  id: string
  prompt_id: string
  interrupted: AbortController
  /** Drains whose tool batch has not ended. */
  open_drains: string[]
}

interface SubmittedPrompt {
  text: string
  done: (result: SubmitResult) => void
}

const DRAIN_TOOL = 'mcp__plugin_turnbell_hub__signals_pending'
const STOPPED = 'the session was stopped and has had no input since'
const DEQUEUED = 'the prompt was removed from the queue before it ran'
const IDLE_PROMPT_MS = 60_000
const passed = () => Promise.resolve({})
/** Thrown inside a turn that a person interrupted. */
class Interrupted extends Error {}

export class SimulatedClaude {
  session_id = 'session-1'
  private turn: RunningTurn | null = null
  /** A prompt was accepted and its turn has not begun yet. */
  private starting = false
  /** Turns whose end is being reported. */
  private ending = 0
  private turns = 0
  private calls = 0
  private sessions = 1
  /** A person interrupted and has sent nothing since. */
  private stopped = false
  private typed = 0
  private submitted: SubmittedPrompt[] = []
  private unread: string[] = []
  private readonly world: ClaudeWorld

  constructor(world: ClaudeWorld) {
    this.world = world
  }

  get busy(): boolean {
    return this.turn !== null
  }

  /** A person interrupted a turn, whose end may be reported after the begin of the next one. */
  get overlaps(): boolean {
    return this.ending > 0
  }

  /** A person interrupted and has sent nothing since. */
  get isInterrupted(): boolean {
    return this.stopped
  }

  /** At the prompt, and nothing is about to begin. */
  get rests(): boolean {
    return this.turn === null && !this.starting && this.ending === 0
  }

  registry(): RegistryRecord {
    return { status: this.turn === null ? 'idle' : 'busy', sessionId: this.session_id }
  }

  inbox = {
    name: 'inbox',
    post: async (text: string) => {
      this.unread.push(text)
      void this.after(this.world.dice().between(50, 500)).then(() => this.startNext())
      return 'sent' as const
    },
    unread: () => this.unread.length > 0,
  }

  /** A person sends a prompt. */
  prompt(): void {
    const { turn } = this
    if (turn !== null && turn.interrupted.signal.aborted) return
    if (turn === null && !this.rests) return
    this.stopped = false
    const origin = { kind: 'composer' }
    void this.world.toModule((mod) =>
      mod.turns.promptSubmitted({ origin, ...(turn && { turnId: turn.id }) }, passed),
    )
    if (turn === null) return void this.start('hello', 'a person')
    this.world.note('a prompt is typed')
    this.typed++
    void this.hook(turn, 'UserPromptSubmit', { prompt: 'and this' })
  }

  /** A person presses Esc. */
  async interrupt(): Promise<void> {
    const { turn, world } = this
    if (turn === null || turn.interrupted.signal.aborted) return
    this.stopped = true
    turn.interrupted.abort()
    world.note(`${turn.id} is interrupted`)
    world.drainsEnded(turn.open_drains, 'discarded')
    void this.world.toModule((mod) => mod.turns.stopped({}, passed))
    for (const { done } of this.submitted.splice(0)) done({ drop: DEQUEUED })
    this.ending++
    const next = this.typed > 0 ? world.dice().between(20, 300) : null
    if (next !== null) {
      await this.after(next)
      this.typed = 0
      this.begin(this.newTurn())
    }
    await this.after(world.dice().between(30, next === null ? 1_000 : 700))
    await this.completed(turn, 'aborted')
    this.ending--
    this.startNext()
  }

  /** A person types /clear. */
  async clear(): Promise<void> {
    if (!this.rests) return
    this.starting = true
    this.stopped = false
    this.world.note('/clear')
    this.world.cleared()
    void this.world.toModule((mod) => mod.turns.sessionEnded({ reason: 'clear' }, passed))
    await this.after(this.world.dice().between(0, 100))
    this.session_id = `session-${++this.sessions}`
    this.world.registryWritten()
    await this.world.hook(this.fields('SessionStart', { source: 'clear' }), new AbortController().signal)
    this.starting = false
    this.startNext()
  }

  /** A module submits a prompt. */
  submit(text: string): Promise<SubmitResult> {
    if (this.stopped) return Promise.resolve({ drop: STOPPED })
    return new Promise((done) => {
      this.submitted.push({ text, done })
      void this.after(this.world.dice().between(20, 200)).then(() => this.startNext())
    })
  }

  /** Begins a turn with what waits, if the client is at its prompt. */
  private startNext(): void {
    if (!this.rests) return
    if (this.typed > 0) {
      this.typed = 0
      return this.begin(this.newTurn())
    }
    // Prompts that waited together are merged.
    const prompts = this.submitted.splice(0)
    if (prompts.length > 0) {
      const began = () => prompts.forEach(({ done }) => done({}))
      return void this.start(prompts.map(({ text }) => text).join('\n'), 'a module', began)
    }
    const messages = this.unread.splice(0)
    if (messages.length === 0) return
    void this.world.toModule((mod) => mod.turns.promptSubmitted({ origin: { kind: 'peer' } }, passed))
    void this.start(messages.join('\n'), 'the inbox')
  }

  private async start(prompt: string, by: string, began = () => {}): Promise<void> {
    this.starting = true
    const turn = this.newTurn()
    this.world.note(`a prompt of ${by} is accepted`)
    await this.hook(turn, 'UserPromptSubmit', { prompt })
    await this.after(this.world.dice().between(1, 100))
    this.starting = false
    this.begin(turn, prompt)
    began()
  }

  private newTurn(): RunningTurn {
    const number = ++this.turns
    return {
      ...{ id: `turn-${number}`, prompt_id: `prompt-${number}` },
      ...{ interrupted: new AbortController(), open_drains: [] },
    }
  }

  private begin(turn: RunningTurn, prompt = ''): void {
    this.world.note(`${turn.id} begins`)
    this.turn = turn
    const reported = this.world.toModule((mod) => mod.turns.turnStarted({ turnId: turn.id }, passed))
    this.world.changed()
    this.world.shown(prompt)
    this.world.registryWritten()
    this.works(turn, reported).catch((error: unknown) => {
      if (!(error instanceof Interrupted)) throw error
    })
  }

  private async works(turn: RunningTurn, reported: Promise<void>): Promise<void> {
    const { world } = this
    await this.within(turn, reported)
    // A doorbell in the response to a Stop hook continues the turn.
    for (;;) {
      const batches = world.dice().between(0, 4)
      for (let batch = 0; batch < batches; batch++) {
        await this.within(turn, this.after(this.thinking()))
        await this.batch(turn)
      }
      await this.within(turn, this.after(this.thinking()))
      const end = world.dice().chance(0.05) ? 'StopFailure' : 'Stop'
      const output = await this.within(turn, this.hook(turn, end))
      const text = (output?.['hookSpecificOutput'] as { additionalContext?: string } | undefined)
        ?.additionalContext
      if (text === undefined) return this.completed(turn, end === 'Stop' ? 'answer' : 'error')
      world.changed()
      world.shown(text)
    }
  }

  private async batch(turn: RunningTurn): Promise<void> {
    const { world } = this
    for (let calls = world.dice().between(1, 2); calls > 0; calls--) {
      if (world.dice().chance(0.75)) await this.drainCall(turn)
      else await this.within(turn, this.after(this.thinking()))
    }
    world.drainsEnded(turn.open_drains.splice(0), 'kept')
    await this.within(turn, this.hook(turn, 'PostToolBatch'))
    if (world.dice().chance(0.4)) this.typed = 0
    world.shown(this.unread.splice(0).join('\n'))
  }

  private async drainCall(turn: RunningTurn): Promise<void> {
    const { world } = this
    const tool = { tool_use_id: `call-${++this.calls}`, tool_name: DRAIN_TOOL }
    let ended = (_: object) => {}
    const result = new Promise<object>((resolve) => (ended = resolve))
    const reported = world.toModule((mod) =>
      mod.tools.toolCalled({ tool: DRAIN_TOOL, tool_use_id: tool.tool_use_id }, () => result),
    )
    turn.interrupted.signal.addEventListener('abort', ended, { once: true })
    await this.within(turn, reported)
    await this.within(turn, this.hook(turn, 'PreToolUse', tool))
    const calling = world.drain(tool.tool_use_id, turn.interrupted.signal)
    // The result may be in the pipe when the turn is interrupted.
    void calling.then((drain) => {
      if (drain === null) return
      if (turn.interrupted.signal.aborted) world.drainsEnded([drain.drain_id], 'discarded')
      else turn.open_drains.push(drain.drain_id)
    })
    if ((await this.within(turn, calling)) === null) return
    await this.within(turn, this.hook(turn, 'PostToolUse', tool))
    ended({})
  }

  /** The turn is over; of an interrupted one the next may have begun. */
  private async completed(turn: RunningTurn, reason: string): Promise<void> {
    this.world.note(`${turn.id} ends: ${reason}`)
    const reported = this.world.toModule((mod) =>
      mod.turns.turnCompleted({ turnId: turn.id, reason }, passed),
    )
    if (this.turn === turn) {
      this.turn = null
      if (reason === 'answer') void this.idlePrompt(turn)
      this.world.changed()
      this.world.registryWritten()
    }
    this.ending++
    await reported
    this.ending--
    this.startNext()
  }

  /** A client that has stayed at its prompt reports it once, but not after an interrupt. */
  private async idlePrompt(turn: RunningTurn): Promise<void> {
    const { turns, session_id } = this
    await this.after(IDLE_PROMPT_MS)
    if (!this.rests || this.turns !== turns || this.session_id !== session_id) return
    void this.hook(turn, 'Notification', { notification_type: 'idle_prompt' })
  }

  private thinking(): number {
    const dice = this.world.dice()
    return dice.chance(0.8) ? dice.between(80, 500) : dice.between(500, 12_000)
  }

  private after(ms: number): Promise<void> {
    return takes(this.world.clock, ms)
  }

  /** Waits, unless a person interrupts the turn. */
  private async within<T>(turn: RunningTurn, step: Promise<T>): Promise<T> {
    const { signal } = turn.interrupted
    let interrupt = () => {}
    const interrupted = new Promise<void>((resolve) => (interrupt = resolve))
    signal.addEventListener('abort', interrupt, { once: true })
    const done = await Promise.race([step, interrupted])
    signal.removeEventListener('abort', interrupt)
    if (signal.aborted) throw new Interrupted()
    return done as T
  }

  private fields(event: string, more: Record<string, string>): Record<string, string> {
    return { event, session_id: this.session_id, agent_id: '', ...more }
  }

  private hook(
    turn: RunningTurn,
    event: string,
    more: Record<string, string> = {},
  ): Promise<HookOutput | null> {
    return this.world.hook(
      this.fields(event, { prompt_id: turn.prompt_id, ...more }),
      turn.interrupted.signal,
    )
  }
}
