/**
 * Random runs of Claude Code with the module: the product's module, link, surface and worker between a simulated client
 * and a simulated hub. The client knows what the model was shown, and what it kept of each drain.
 */
import type { SurfaceReport } from '../../../src/contracts/control.ts'
import { doorbellText, shortBellId, type Doorbell } from '../../../src/contracts/doorbell.ts'
import { LIMITS } from '../../../src/contracts/limits/limits.ts'
import { createIds } from '../../../src/system/random.ts'
import type { Dice } from '../dice.ts'
import { swarmWeights, type RandomRun } from '../random-runs.ts'
import { Violation } from '../violation.ts'
import { SimulatedClaude } from './claude/simulated-claude.ts'
import { SimulatedDrains } from './claude/simulated-drains.ts'
import { startModule, type SimulatedModule } from './claude/simulated-module.ts'
import { SimulatedPipe } from './claude/simulated-pipe.ts'
import { startWorker, type SimulatedWorker, type WorkerWorld } from './claude/simulated-worker.ts'
import { atRest, fakeClock, seededRandom } from './fake-clock.ts'

const WEIGHTS = {
  'short time': 14,
  seconds: 7,
  'a minute': 0.6,
  prompt: 9,
  interrupt: 5,
  offer: 6,
  clear: 0.6,
  'block the module': 0.9,
  'reload the module': 0.5,
  'unload the module': 0.3,
  'kill the worker': 0.5,
  'lose a message': 0.9,
  'slow hub': 0.7,
}
type Step = keyof typeof WEIGHTS
const ACTIONS = ['short time', 'prompt', 'interrupt', 'offer'] as const
const TROUBLES = [
  'clear',
  'block the module',
  'reload the module',
  'kill the worker',
  'lose a message',
  'slow hub',
] as const
const TIMES_MS = { 'short time': [1, 300], seconds: [300, 10_000], 'a minute': [10_000, 75_000] } as const
/** Time after which the surface agrees with the client: a silent module, and then the registry. */
const AGREES_MS = LIMITS.mod_silent_ms + LIMITS.claude_settle_ms + LIMITS.claude_registry_lag_ms + 5_000
const RESPAWN_MS = 400
/** Time in which the module has repeated what was lost. */
const LOSS_MS = 5_000
/** Longer than the client may need to begin a turn with a doorbell. */
const FORMER_BELL_MS = 60_000

export async function openClaudeRun(seed: number, dice: Dice, story: string[]): Promise<RandomRun> {
  const run = new ClaudeRun(seed, dice, story)
  await atRest()
  return run
}

class ClaudeRun implements RandomRun {
  private dice: Dice
  private readonly weights
  private readonly clock = fakeClock()
  private readonly story: string[]
  private readonly ids
  private readonly drains: SimulatedDrains
  private readonly claude: SimulatedClaude
  private readonly pipe: SimulatedPipe
  private worker: SimulatedWorker | null = null
  private module: SimulatedModule | null
  private workers = 0
  private epochs = 0
  /** A worker's socket can be found. */
  private has_pointer = false
  private to_lose = 0
  private lost_ms = -LOSS_MS
  private hub_slow_until_ms = 0
  private is_calm = false
  /** Since then nothing has changed or gone wrong. */
  private quiet_since_ms = 0
  private bells: Doorbell[] = []
  private accepted: { name: string; at_ms: number; worker: SimulatedWorker } | null = null
  private shown_in_turn: string[] = []
  private readonly shown_bells = new Set<string>()
  private violations: Violation[] = []

  constructor(seed: number, dice: Dice, story: string[]) {
    this.dice = dice
    this.story = story
    this.weights = swarmWeights(WEIGHTS, dice, (weight) => weight > 1)
    // Many faults need the same trouble, and then prompts, interrupts or doorbells, in quick succession.
    this.weights[dice.pick(TROUBLES)] = 5
    this.weights[dice.pick(ACTIONS)] = 15
    this.ids = createIds(this.clock, seededRandom(seed))
    this.drains = new SimulatedDrains((what) => this.note(what))
    this.pipe = new SimulatedPipe({
      clock: this.clock,
      latency_ms: () => this.dice.between(1, 4),
      unread: (drain_id) => this.drains.ended([drain_id], 'discarded'),
    })
    this.claude = this.newClaude()
    this.module = dice.chance(0.85) ? this.newModule() : null
    const starts_ms = dice.chance(0.7) ? 0 : dice.between(0, 3_000)
    this.clock.after(starts_ms, () => this.startWorker(dice.chance(0.3) ? 0 : dice.between(0, 10_000)))
  }

  async step(dice: Dice): Promise<void> {
    this.dice = dice
    const step = dice.weighted(this.weights)
    if (step in TIMES_MS) {
      const [low, high] = TIMES_MS[step as keyof typeof TIMES_MS]
      await this.passes(dice.between(low, high))
    } else {
      this.note(step)
      this.play(step)
    }
    await atRest()
    await this.check()
  }

  async calm(): Promise<void> {
    this.note('calm')
    this.is_calm = true
    this.to_lose = this.hub_slow_until_ms = 0
    for (let waited_ms = 0; !this.claude.rests || this.quiet_ms() < 2 * AGREES_MS; waited_ms += 5_000) {
      await this.passes(5_000)
      await this.check()
      if (waited_ms > 20 * 60_000) throw new Violation('the client comes to rest', 'it does not')
    }
    this.drains.checkSettled()
    await this.isRung()
    this.drains.checkSettled()
  }

  close(): void {
    this.worker?.kill()
    this.module?.end()
  }

  private play(step: Step): void {
    const { dice, claude } = this
    const now = this.clock.monotonic()
    switch (step) {
      case 'prompt':
        return claude.prompt()
      case 'interrupt':
        return void claude.interrupt()
      case 'clear':
        return void claude.clear()
      case 'offer':
        return void this.offer()
      case 'block the module':
        // The client itself ends a module that does not answer for longer.
        this.module?.block(now + dice.between(100, dice.chance(0.7) ? 3_000 : 10_000))
        return this.troubled(10_000)
      case 'reload the module':
        // A module that is loaded between the begin of a turn and the end of the one before it cannot distinguish them.
        if (claude.overlaps) return
        this.module?.end()
        if (this.module !== null) this.module = this.newModule()
        return this.troubled()
      case 'unload the module':
        this.module?.end()
        this.module = null
        return this.troubled()
      case 'kill the worker':
        return this.killWorker()
      case 'lose a message':
        // More repetitions in a row take longer than a drain waits for its report.
        if (now < this.lost_ms + LOSS_MS) return
        this.to_lose = dice.between(1, 2)
        return
      case 'slow hub':
        this.hub_slow_until_ms = now + dice.between(100, 20_000)
        return this.troubled(21_000)
      default:
    }
  }

  private newClaude(): SimulatedClaude {
    const { clock, drains } = this
    return new SimulatedClaude({
      ...{ clock, dice: () => this.dice, note: (what) => this.note(what) },
      hook: (fields, signal) => this.pipe.hook(fields, signal),
      drain: (tool_use_id, signal) => this.pipe.drain(tool_use_id, signal),
      toModule: (hook) => this.module?.deliver(hook) ?? Promise.resolve(),
      registryWritten: () =>
        void clock.after(this.dice.between(5, 40), () =>
          this.worker?.surface.registryRead(this.claude.registry()),
        ),
      shown: (text) => this.shown(text),
      drainsEnded: (drain_ids, fate) => drains.ended(drain_ids, fate),
      cleared: () => drains.cleared(),
      changed: () => {
        this.shown_in_turn = []
        this.troubled()
      },
    })
  }

  private newModule(): SimulatedModule {
    return startModule({
      ...{ clock: this.clock, session_id: () => this.claude.session_id },
      pointer: () => {
        if (!this.has_pointer) throw new Error('no such file')
        return `/worker-${this.workers}.sock\n`
      },
      workerAt: (socket) => (socket === `/worker-${this.workers}.sock` ? this.worker : null),
      submit: (text) => this.claude.submit(text),
      delay_ms: () => (this.dice.chance(0.9) ? this.dice.between(1, 8) : this.dice.between(8, 60)),
      isLost: () => {
        if (this.to_lose === 0) return false
        this.to_lose--
        this.lost_ms = this.clock.monotonic()
        this.note('a message between module and worker is lost')
        this.troubled()
        return true
      },
    })
  }

  private startWorker(socket_after_ms: number): void {
    const respawned = this.workers > 0
    this.workers++
    const world: WorkerWorld = {
      ...{
        clock: this.clock,
        drains: this.drains,
        inbox: this.claude.inbox,
        session_id: this.claude.session_id,
      },
      newEpoch: () => `epoch-${++this.epochs}`,
      hub_ms: () =>
        this.clock.monotonic() < this.hub_slow_until_ms
          ? this.dice.between(100, 6_000)
          : this.dice.between(1, 10),
      host: { report: (report) => this.reported(report, worker) },
    }
    this.note(`worker ${this.workers} starts`)
    const worker = startWorker(world, respawned)
    this.worker = worker
    this.pipe.connect(worker)
    worker.surface.registryRead(this.claude.registry())
    this.clock.after(socket_after_ms, () => {
      if (!worker.alive) return
      this.has_pointer = true
      this.troubled()
    })
    this.troubled()
  }

  private killWorker(): void {
    if (this.worker === null) return
    this.worker.kill()
    this.worker = null
    this.pipe.disconnect()
    this.troubled()
    this.clock.after(RESPAWN_MS, () => this.startWorker(this.dice.between(0, 100)))
  }

  /** Like a daemon: a doorbell is sent in the response to a report only if none is outstanding. */
  private async reported(
    report: SurfaceReport,
    worker: SimulatedWorker,
  ): Promise<{ doorbell: Doorbell | null }> {
    if (!worker.alive) return { doorbell: null }
    const { turn, turn_seq, session_id, outstanding_doorbell_id: outstanding, take } = report
    this.note(
      `report: ${turn} ${turn_seq} of ${session_id}, ${report.via ?? ''}${outstanding ? ', holds one' : ''}`,
    )
    if (session_id !== null) this.drains.reported(session_id, { turn, turn_seq })
    if (take !== true || outstanding !== undefined || this.is_calm || this.mayHoldFormerBell())
      return { doorbell: null }
    if (this.dice.chance(0.5)) return { doorbell: null }
    const doorbell = this.bell()
    this.note(`the report is answered with bell ${this.bells.length}`)
    return { doorbell }
  }

  private async offer(): Promise<void> {
    const { worker } = this
    if (worker === null || this.mayHoldFormerBell()) return
    const doorbell = this.bell()
    const name = `bell ${this.bells.length}`
    const { accepted, proof } = await worker.surface.notify_surface(doorbell)
    this.note(`${name}: ${proof}`)
    if (accepted) this.accepted = { name, at_ms: this.clock.monotonic(), worker }
  }

  /** A replaced worker does not know what the client holds; the daemon waits before it rings again. */
  private mayHoldFormerBell(): boolean {
    const { accepted } = this
    if (accepted === null || accepted.worker === this.worker || this.shown_bells.has(accepted.name))
      return false
    return this.clock.monotonic() - accepted.at_ms < FORMER_BELL_MS
  }

  private bell(): Doorbell {
    const bell = {
      ...{
        doorbell_id: this.ids.next(),
        signal_id: this.ids.next(),
        identity: 'ada',
        from: 'bob',
      },
      ...{ pending_count: 1, intent: 'task', priority: 3, reason: 'signal' as const },
    }
    const doorbell = { ...bell, text: doorbellText(bell) }
    this.bells.push(doorbell)
    return doorbell
  }

  private shown(text: string): void {
    for (const [index, { doorbell_id }] of this.bells.entries()) {
      if (!text.includes(`(bell ${shortBellId(doorbell_id)})`)) continue
      const name = `bell ${index + 1}`
      this.note(`${name} is shown`)
      if (this.shown_bells.has(name)) this.violations.push(new Violation('a doorbell is shown once', name))
      this.shown_bells.add(name)
      this.shown_in_turn.push(name)
    }
    if (this.shown_in_turn.length < 2) return
    this.violations.push(new Violation('one doorbell in a turn', this.shown_in_turn.join(', ')))
  }

  private async isRung(): Promise<void> {
    const shown = this.shown_bells.size
    for (let waited_ms = 0; waited_ms < 3 * 60_000; waited_ms += 10_000) {
      void this.offer()
      await atRest()
      await this.passes(10_000)
      await this.check()
      if (this.shown_bells.size === shown) continue
      while (!this.claude.rests || this.quiet_ms() < AGREES_MS) await this.passes(5_000)
      return this.check()
    }
    throw new Violation('a client at its prompt is rung', 'it is not')
  }

  /** @throws Violation */
  private async check(): Promise<void> {
    const [first] = this.violations
    if (first !== undefined) throw first
    this.drains.check()
    if (this.quiet_ms() < AGREES_MS || this.worker === null) return
    const { turn, interrupted = false } = await this.worker.surface.status()
    if (interrupted && this.claude.rests && !this.claude.isInterrupted)
      throw new Violation('an interrupt is reported only if there was one', 'there was none')
    const truth = this.claude.busy ? 'busy' : 'idle'
    if (turn !== truth && (this.claude.busy || this.claude.rests))
      throw new Violation('the turn is reported', `the client is ${truth} and its surface ${turn}`)
  }

  private async passes(ms: number): Promise<void> {
    await this.clock.advance(ms)
  }

  private quiet_ms(): number {
    return this.clock.monotonic() - this.quiet_since_ms
  }

  private troubled(for_ms = 0): void {
    this.quiet_since_ms = Math.max(this.quiet_since_ms, this.clock.monotonic() + for_ms)
  }

  private note(what: string): void {
    this.story.push(`${String(this.clock.monotonic()).padStart(8)} ${what}`)
  }
}
