/**
 * Checks that every shim that rings a real client has at most one unseen doorbell at a time.
 *
 * A run simulates one client from a seed, behind the shim's own code. The model follows the real client: it accepts a
 * doorbell late, queues it, begins its turn much later, or loses it. The run knows which doorbells the client holds
 * unseen, and compares them with what the shim delivers and reports.
 */
import { describe, test } from 'vitest'
import type { ReportAnswer, SurfaceReport } from '../../src/contracts/control.ts'
import { doorbellText, type Doorbell } from '../../src/contracts/doorbell.ts'
import type { DoorbellId } from '../../src/contracts/ids.ts'
import { LIMITS } from '../../src/contracts/limits/limits.ts'
import type { Surface, SurfaceHost } from '../../src/ports/surface.ts'
import { createIds } from '../../src/system/random.ts'
import { Dice } from '../support/dice.ts'
import { atRest, fakeClock, seededRandom, type FakeClock } from '../support/fakes/fake-clock.ts'
import { playRuns, swarmWeights, type RandomRun } from '../support/random-runs.ts'
import { Violation } from '../support/violation.ts'

/** The doorbells that the client really holds. Its driver updates this before it notifies the shim. */
export interface ClientTruth {
  clock: FakeClock
  host: SurfaceHost
  /** Random numbers of the current step. */
  dice: () => Dice
  /** Adds a line to the printed story of a failing run. */
  note: (what: string) => void
  /** Records that the shim has delivered a doorbell to the client. */
  handed(doorbell_id: DoorbellId): void
  /** Records that a turn of the client has begun with it. */
  seen(doorbell_id: DoorbellId): void
  /** Records that the client no longer holds it and no turn will begin with it. */
  lost(doorbell_id: DoorbellId, why: string): void
  unseen(): readonly DoorbellId[]
  /** Returns the doorbell with this text. */
  bellIn(text: string): DoorbellId
}

export interface PlayedClient {
  surface: Surface
  /** The client's actions by name. An action that is not possible at the moment does nothing. */
  steps: Readonly<Record<string, ClientStep>>
  /** Ends every state in which an idle client does not accept a doorbell: a turn, a pause, a lost connection. */
  calm(): Promise<void>
  close(): void
}

export interface ClientStep {
  weight: number
  play(): void | Promise<void>
}

export interface UnseenBellTraits {
  /** Documented time after which a doorbell without a trace at an idle client counts as lost. */
  lost_ms: number
  seeds: number
}

const STEPS_MIN = 20
const STEPS_MAX = 60
/** Mostly short, because a doorbell is lost within a minute. */
const TIMES = { seconds: 12, 'a minute': 10, long: 0.5 }
const TIMES_MS = {
  seconds: [1_000, 10_000],
  'a minute': [10_000, 75_000],
  long: [75_000, 20 * 60_000],
} as const
/** Interval at which the daemon probes an idle surface that holds a doorbell. */
const PROBE_MS = LIMITS.bell_receipt_ms
/** Longer than any doorbell needs to begin its turn or to be abandoned. */
const CALM_MS_MAX = 10 * 60_000
const COMMON = { offer: 8, probe: 7, time: 8 }

export function describeOneUnseenBell(
  name: string,
  traits: UnseenBellTraits,
  open: (truth: ClientTruth) => Promise<PlayedClient>,
): void {
  describe(`${name}, with one unseen doorbell at a time,`, () => {
    test(`keeps its promises in ${traits.seeds} runs`, async () => {
      const plan = { seeds: traits.seeds, steps_min: STEPS_MIN, steps_max: STEPS_MAX }
      await playRuns(plan, (seed, dice, story) => openRun(seed, { dice, story, traits, open }))
    })
  })
}

type Open = (truth: ClientTruth) => Promise<PlayedClient>
interface Opening {
  dice: Dice
  story: string[]
  traits: UnseenBellTraits
  open: Open
}

async function openRun(seed: number, { dice, story, traits, open }: Opening): Promise<RandomRun> {
  const world = new World(seed, story)
  const client = await open(world.truth)
  const steps = Object.entries(client.steps).map(([name, { weight }]) => [name, weight] as const)
  const weights = { ...COMMON, ...swarmWeights(Object.fromEntries(steps), dice, (weight) => weight > 1) }
  return {
    step: (of_step) => playStep(world, client, weights, of_step),
    calm: () => playCalm(world, client, traits),
    close: () => client.close(),
  }
}

async function playStep(
  world: World,
  client: PlayedClient,
  weights: Record<string, number>,
  dice: Dice,
): Promise<void> {
  world.dice = dice
  const what = dice.weighted(weights)
  if (what === 'offer') world.offer(client.surface)
  else if (what === 'probe') void world.probe(client.surface)
  else if (what === 'time') {
    const [low, high] = TIMES_MS[dice.weighted(TIMES)]
    await world.passes(dice.between(low, high))
  } else {
    world.truth.note(what)
    await client.steps[what]?.play()
  }
  await atRest()
  world.check()
}

/** Checks that an idle client without a doorbell and without obstacles receives one within the documented time. */
async function playCalm(world: World, client: PlayedClient, { lost_ms }: UnseenBellTraits): Promise<void> {
  world.truth.note('calm')
  world.calm = true
  let free_ms = 0
  for (let passed_ms = 0; passed_ms <= CALM_MS_MAX; passed_ms += PROBE_MS) {
    await client.calm()
    free_ms = world.truth.unseen().length === 0 ? free_ms + PROBE_MS : 0
    await world.passes(PROBE_MS)
    const asked = world.probe(client.surface)
    await world.passes(1_000)
    if ((await asked).outstanding_doorbell_id === undefined && (await world.isRung(client.surface))) return
    world.check()
    if (free_ms > lost_ms + 2 * PROBE_MS) break
  }
  throw new Violation(
    'a lost doorbell stops blocking others',
    `an idle client took none after ${free_ms} ms without one`,
  )
}

class World {
  dice: Dice
  /** While false, no doorbell is sent in the response to a report. */
  calm = false
  readonly truth: ClientTruth
  private readonly ids
  private readonly held: DoorbellId[] = []
  private readonly names = new Map<DoorbellId, string>()
  private readonly texts = new Map<string, DoorbellId>()
  private readonly violations: Violation[] = []
  private readonly story: string[]
  private readonly clock = fakeClock()
  private offers = 0

  constructor(seed: number, story: string[]) {
    this.story = story
    this.dice = new Dice(seed, 0)
    this.ids = createIds(this.clock, seededRandom(seed))
    this.truth = {
      clock: this.clock,
      host: { report: (report) => this.reported(report) },
      dice: () => this.dice,
      note: (what) => this.note(what),
      handed: (doorbell_id) => this.handed(doorbell_id),
      seen: (doorbell_id) => this.gone(doorbell_id, 'seen'),
      lost: (doorbell_id, why) => this.gone(doorbell_id, why),
      unseen: () => this.held,
      bellIn: (text) => this.texts.get(text) as DoorbellId,
    }
  }

  /** @throws Violation */
  check(): void {
    const [first] = this.violations
    if (first !== undefined) throw first
  }

  async passes(ms: number): Promise<void> {
    this.note(`${ms} ms pass`)
    await this.clock.advance(ms)
  }

  offer(surface: Surface): void {
    void this.ring(surface)
  }

  async isRung(surface: Surface): Promise<boolean> {
    const answer = this.ring(surface)
    await this.passes(LIMITS.shim_answer_ms)
    return await answer
  }

  async probe(surface: Surface): Promise<SurfaceReport> {
    const status = await surface.status()
    this.named(status, 'status')
    return status
  }

  private async ring(surface: Surface): Promise<boolean> {
    const bell = this.bell()
    const name = this.nameOf(bell.doorbell_id)
    this.note(`offer ${name}`)
    const { accepted, proof } = await surface.notify_surface(bell)
    this.note(`${name}: ${accepted ? 'accepted' : 'not accepted'}, ${proof}`)
    if (accepted) this.alone(bell.doorbell_id, 'accepted')
    return accepted
  }

  private bell(): Doorbell {
    this.offers += 1
    const bell = {
      ...{ doorbell_id: this.ids.next(), signal_id: this.ids.next(), identity: 'ada', from: 'bob' },
      ...{ pending_count: 1, intent: 'task', priority: 3, reason: 'signal' as const },
    }
    const text = doorbellText(bell)
    this.names.set(bell.doorbell_id, `bell ${this.offers}`)
    this.texts.set(text, bell.doorbell_id)
    return { ...bell, text }
  }

  private nameOf(doorbell_id: DoorbellId): string {
    return this.names.get(doorbell_id) ?? doorbell_id
  }

  private handed(doorbell_id: DoorbellId): void {
    this.note(`the client gets ${this.nameOf(doorbell_id)}`)
    this.alone(doorbell_id, 'handed over')
    this.held.push(doorbell_id)
  }

  private gone(doorbell_id: DoorbellId, why: string): void {
    const at = this.held.indexOf(doorbell_id)
    if (at === -1) return
    this.note(`${this.nameOf(doorbell_id)} is ${why}`)
    this.held.splice(at, 1)
  }

  private alone(doorbell_id: DoorbellId, how: string): void {
    const other = this.held.find((one) => one !== doorbell_id)
    if (other === undefined) return
    const detail = `${this.nameOf(doorbell_id)} was ${how} while the client held ${this.nameOf(other)} unseen`
    this.violations.push(new Violation('one unseen doorbell at a time', detail))
  }

  /** Like a daemon: a doorbell is sent in the response to a report only if none is outstanding. */
  private async reported(report: SurfaceReport): Promise<ReportAnswer> {
    this.named(report, 'report')
    const asks = report.take === true && report.outstanding_doorbell_id === undefined
    if (!asks || this.calm || !this.dice.chance(0.5)) return { doorbell: null }
    const doorbell = this.bell()
    this.note(`the report is answered with ${this.nameOf(doorbell.doorbell_id)}`)
    return { doorbell }
  }

  private named(report: SurfaceReport, where: string): void {
    const { outstanding_doorbell_id: named } = report
    const shown = named === undefined ? 'none' : this.nameOf(named)
    this.note(`${where}: ${report.absent ? 'absent' : report.turn}, outstanding ${shown}`)
    // A shim that has lost its client does not know what the client holds.
    if (report.absent === true || this.held.length === 0) return
    if (named !== undefined && this.held.includes(named)) return
    const held = this.held.map((one) => this.nameOf(one)).join(', ')
    const detail = `the ${where} named ${shown} while the client held ${held} unseen`
    this.violations.push(new Violation('an unseen doorbell is outstanding', detail))
  }

  private note(what: string): void {
    this.story.push(`${String(this.clock.monotonic()).padStart(8)} ${what}`)
  }
}
