/** Runs one simulation from its seed. */
import { Dice } from '../support/dice.ts'
import { act, pauseAfter, planOf } from './actions.ts'
import { calm } from './calm.ts'
import { asViolation } from './promises/excuses.ts'
import { World } from './world/world.ts'

export interface SimulationOptions {
  seed: number
  steps: number
  /** Runs only these steps; all steps if omitted. */
  only?: ReadonlySet<number> | undefined
  /** Called before each step. */
  onStep?: ((step: number, action: string, now: number) => void) | undefined
}

export interface SimulationResult {
  seed: number
  steps: number
  broken: { promise: string; detail: string; step: number } | null
  counts: Record<string, number>
}

/** Number of steps between two scrapes: as often as a dashboard scrapes, and seldom enough not to slow the run down. */
const SCRAPE_STEPS = 50

export async function simulate({ seed, steps, only, onStep }: SimulationOptions): Promise<SimulationResult> {
  const plan = planOf(seed)
  const world = new World(seed, plan.personas)
  let step = 0
  let broken: SimulationResult['broken'] = null
  try {
    world.manners = plan.manners
    world.replies = plan.replies
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
      await world.pass(pauseAfter(action, world.dice))
      if (step % SCRAPE_STEPS === 0) await world.scrape()
    }
    world.dice = new Dice(seed, steps + 1)
    await calm(world, { network: plan.network, for_sessions: plan.weights.sendToSession !== undefined })
  } catch (error) {
    const { promise, message } = asViolation(error)
    broken = { promise, detail: message, step }
  } finally {
    world.end()
  }
  const { truth, bells, metrics, wraps, timeline, turns } = world
  return {
    seed,
    steps,
    broken,
    counts: {
      ...truth.counts,
      ...bells.counts,
      ...metrics.counts,
      ...wraps.counts,
      turns,
      happened: timeline.happened,
    },
  }
}
