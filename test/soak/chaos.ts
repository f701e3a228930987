/** Kills and stops processes at random, from a seed. Their supervisors restart them. */
import type { Dice } from '../support/dice.ts'
import type { Agent } from './agent.ts'
import type { Supervised } from './supervised.ts'

/** The daemons of a part of the team are never killed, so that their memory can be measured. */
export interface ChaosWorld {
  dice: Dice
  hub: Supervised
  daemons: ReadonlyMap<string, Supervised>
  agents: ReadonlyMap<string, Agent>
  witnesses: ReadonlySet<string>
  kills_per_minute: number
  /** Whether some agents call through bridges. */
  bridges: boolean
}

type Mishap =
  | 'hub'
  | 'daemon'
  | 'shim'
  | 'bridge'
  | 'hub stands still'
  | 'daemon stands still'
  | 'bridge stands still'

const WEIGHTS: Record<Mishap, number> = {
  ...{ hub: 2, daemon: 8, shim: 5, bridge: 0 },
  ...{ 'hub stands still': 1, 'daemon stands still': 4, 'bridge stands still': 0 },
}
/** Weights for bad days, where some agents call through bridges. */
const WITH_BRIDGES: Record<Mishap, number> = { ...WEIGHTS, hub: 5, bridge: 3, 'bridge stands still': 4 }
const STILL_MS_MAX = 6_000

export class Chaos {
  readonly counts: Record<Mishap, number> = {
    ...{ hub: 0, daemon: 0, shim: 0, bridge: 0 },
    ...{ 'hub stands still': 0, 'daemon stands still': 0, 'bridge stands still': 0 },
  }
  private next_ms: number
  private readonly world: ChaosWorld

  constructor(world: ChaosWorld) {
    this.world = world
    this.next_ms = this.interval()
  }

  /** Performs the mishaps of this many milliseconds. */
  pass(ms: number, hub_may_fall: boolean): void {
    this.next_ms -= ms
    while (this.next_ms <= 0) {
      this.next_ms += this.interval()
      this.befall(hub_may_fall)
    }
  }

  /** Exponentially distributed, so that occasionally two coincide. */
  private interval(): number {
    const { dice, kills_per_minute } = this.world
    return kills_per_minute === 0 ? Infinity : -Math.log(1 - dice.next()) * (60_000 / kills_per_minute)
  }

  private befall(hub_may_fall: boolean): void {
    const { dice, hub, daemons, agents, witnesses } = this.world
    const mishap = dice.weighted(this.world.bridges ? WITH_BRIDGES : WEIGHTS)
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
      case 'bridge':
        if (this.bridged((agent) => agent.killBridge())) this.counts[mishap] += 1
        return
      case 'bridge stands still':
        if (this.bridged((agent) => agent.bridgeStandsStill(still_ms))) this.counts[mishap] += 1
        return
      case 'hub stands still':
        // A stopped hub may answer every daemon's peek late.
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

  /** Applies to the first agent with a bridge, starting at a random agent. */
  private bridged(happens: (agent: Agent) => boolean): boolean {
    const agents = [...this.world.agents.values()]
    const first = this.world.dice.between(0, agents.length - 1)
    return [...agents.slice(first), ...agents.slice(0, first)].some(happens)
  }
}
