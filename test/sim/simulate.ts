/** One simulation from its seed. */
import { act, pauseAfter, planOf } from './actions.ts'
import { LIMITS } from '../../src/contracts/limits.ts'
import { Dice } from './dice.ts'
import { asViolation } from './violation.ts'
import { World } from './world.ts'

export interface SimulationOptions {
  seed: number
  steps: number
  /** Only these steps happen; all where it is left out. */
  only?: ReadonlySet<number> | undefined
  /** Told of each step before it happens. */
  onStep?: ((step: number, action: string, now: number) => void) | undefined
}

export interface SimulationResult {
  seed: number
  steps: number
  broken: { promise: string; detail: string; step: number } | null
  counts: Record<string, number>
}

/** Longer than any patience: the longest is that with an idle surface and a backlog, doubled by lost bells. */
const HEALING_MS = 15 * 60_000
const TURNS_MS = 2 * 60_000
/** As often as a person looks at a dashboard, and not so often that it takes long. */
const SCRAPE_STEPS = 50
/** A turn takes some of a long queue. */
const QUIET_TURNS_MAX = 50

export async function simulate({ seed, steps, only, onStep }: SimulationOptions): Promise<SimulationResult> {
  const plan = planOf(seed)
  const world = new World(seed, plan.personas)
  let step = 0
  let broken: SimulationResult['broken'] = null
  try {
    world.manners = plan.manners
    world.platters.failed_sync_loses = true
    world.disk_faults = { ...world.disk_faults, sync_ms_max: plan.sync_ms_max }
    world.startHub()
    await world.pass(100)
    for (const identity of plan.personas) {
      world.startDaemon(identity)
      world.startSurface(identity)
    }
    if (plan.link_agents) world.startAgent('eve')
    await world.pass(2_000)
    for (step = 1; step <= steps; step++) {
      if (only !== undefined && !only.has(step)) continue
      world.dice = new Dice(seed, step)
      const action = act(world, plan)
      onStep?.(step, action, world.timeline.now)
      await world.pass(pauseAfter(world.dice))
      if (step % SCRAPE_STEPS === 0) await world.scrape()
    }
    world.dice = new Dice(seed, steps + 1)
    const { lose, reorder } = plan.network
    await world.heal({ lossy: lose + reorder > 0, fresh_sessions: world.dice.chance(0.5) })
    await world.pass(HEALING_MS)
    // Nobody may have told the hub that a session is over; it then takes as long as a lease lives.
    const forgotten = plan.weights.sendToSession !== undefined || world.leftLeased().length > 0
    if (forgotten) await world.pass(LIMITS.lease_ms)
    await world.checkAtRest('loud')
    await takeWhatIsQuiet(world)
    // A drain that nothing has confirmed goes back when its lease is over, and is taken once more.
    if (world.leased() > 0) {
      await world.pass(LIMITS.lease_ms)
      await takeWhatIsQuiet(world)
    }
    await world.checkAtRest('all')
    await world.checkLast()
  } catch (error) {
    const { promise, message } = asViolation(error)
    broken = { promise, detail: message, step }
  } finally {
    world.end()
  }
  const { truth, bells, metrics, timeline, turns } = world
  return {
    seed,
    steps,
    broken,
    counts: { ...truth.counts, ...bells.counts, ...metrics.counts, turns, happened: timeline.happened },
  }
}

/** What is quiet waits for turns that come anyway. */
async function takeWhatIsQuiet(world: World): Promise<void> {
  for (let turn = 0; turn < QUIET_TURNS_MAX && world.waiting() > 0; turn++) {
    for (const surface of world.surfaces.values()) surface.prompt()
    await world.pass(TURNS_MS)
  }
}
