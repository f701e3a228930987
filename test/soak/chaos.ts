/** Kills and stops at random, from a seed. What falls is started again by its supervisor. */
import type { Dice } from '../support/dice.ts'
import type { Agent } from './agent.ts'
import type { Supervised } from './supervised.ts'

/** The daemons of a part of the team are never killed, so that they can be weighed. */
export interface ChaosWorld {
  dice: Dice
  hub: Supervised
  daemons: ReadonlyMap<string, Supervised>
  agents: ReadonlyMap<string, Agent>
  witnesses: ReadonlySet<string>
  kills_per_minute: number
}

type Mishap = 'hub' | 'daemon' | 'shim' | 'hub stands still' | 'daemon stands still'

const WEIGHTS: Record<Mishap, number> = {
  ...{ hub: 2, daemon: 8, shim: 5 },
  ...{ 'hub stands still': 1, 'daemon stands still': 4 },
}
const STILL_MS_MAX = 6_000

export class Chaos {
  readonly counts: Record<Mishap, number> = {
    ...{ hub: 0, daemon: 0, shim: 0 },
    ...{ 'hub stands still': 0, 'daemon stands still': 0 },
  }
  private next_ms: number
  private readonly world: ChaosWorld

  constructor(world: ChaosWorld) {
    this.world = world
    this.next_ms = this.interval()
  }

  /** What befalls them in so many milliseconds. */
  pass(ms: number, hub_may_fall: boolean): void {
    this.next_ms -= ms
    while (this.next_ms <= 0) {
      this.next_ms += this.interval()
      this.befall(hub_may_fall)
    }
  }

  /** Exponential, so that now and then two come at once. */
  private interval(): number {
    const { dice, kills_per_minute } = this.world
    return kills_per_minute === 0 ? Infinity : -Math.log(1 - dice.next()) * (60_000 / kills_per_minute)
  }

  private befall(hub_may_fall: boolean): void {
    const { dice, hub, daemons, agents, witnesses } = this.world
    const mishap = dice.weighted(WEIGHTS)
    const names = [...daemons.keys()]
    const mortal = dice.pick(names.filter((name) => !witnesses.has(name)))
    const anybody = dice.pick(names)
    const still_ms = dice.between(200, STILL_MS_MAX)
    switch (mishap) {
      case 'hub':
        if (hub_may_fall && hub.kill()) this.counts[mishap] += 1
        return
      case 'daemon':
        if (daemons.get(mortal)?.kill()) this.counts[mishap] += 1
        return
      case 'shim':
        if (agents.get(anybody)?.killShim()) this.counts[mishap] += 1
        return
      case 'hub stands still':
        // Every daemon's look at what waits may be answered late.
        if (hub_may_fall && hub.standStill(still_ms) !== null) this.counts[mishap] += 1
        return
      case 'daemon stands still': {
        const [daemon, agent] = [daemons.get(anybody), agents.get(anybody)]
        const over = daemon?.standStill(still_ms) ?? null
        if (over === null) return
        this.counts[mishap] += 1
        agent?.daemonStoodStill()
        void over.then(() => agent?.daemonStoodStill())
      }
    }
  }
}
