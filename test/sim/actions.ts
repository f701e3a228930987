/** The actions that a simulation step can perform, and the probability of each one in a run. */
import { Dice } from '../support/dice.ts'
import { EVERYBODY, HERALD } from './promises/ledger.ts'
import { CALM, type NetworkFaults } from './world/network.ts'
import { CALM_DISK } from './world/process-disk.ts'
import { GOOD, type BellFate, type Manners, type TurnHabit } from './world/surface.ts'
import type { World } from './world/world.ts'
import { ackResult, send } from './world/senders.ts'

type Act = (world: World, plan: Plan) => void

/**
 * Configuration of one run: which actors take part and which kinds of faults are enabled. Many runs with a few kinds
 * each find more bugs than one run with all kinds.
 */
export interface Plan {
  personas: string[]
  weights: Partial<Record<Action, number>>
  manners: Manners
  network: NetworkFaults
  sync_ms_max: number
  /** Whether wishes are also sent to and from agents connected by a WebSocket without a daemon. */
  link_agents: boolean
  replies: World['replies']
}

const PERSONAS = ['ada', 'bob', 'cy', 'dee']
const PRIORITIES = [3, 3, 3, 3, 0, 1, 5, 9]
const LOCK_LOOK_MS = 10_000
/** Maximum delay of the disk write that records a wrapped persona, while a second hub takes over. */
const WRAP_MS_MAX = 500
const LONG_TTL_S = 86_400
/** Covers three reminders, and the same time again without a doorbell. */
const SILENCE_MS = [900_000, 2_400_000] as const
/** After the first reminder and before the second. */
const BETWEEN_REMINDERS_MS = 100_000

function anyHost(world: World) {
  const hosts = world.hosts().filter(({ alive }) => alive)
  return hosts.length === 0 ? null : world.dice.pick(hosts)
}

const ACTIONS = {
  send(world) {
    const { dice, personas } = world
    const wish = {
      ...{
        from: dice.pick([...personas, 'operator']),
        to: dice.pick(world.audience),
        priority: dice.pick(PRIORITIES),
      },
      ...{ key: dice.chance(0.7) ? `key-${world.truth.wishes.length}` : null, to_session: null },
      ttl_s: dice.chance(0.1) ? dice.between(1, 600) : LONG_TTL_S,
    }
    send(world, wish)
  },
  burst(world) {
    for (let left = world.dice.between(2, 12); left > 0; left--) ACTIONS.send(world)
  },
  sendToSession(world) {
    const { dice, timeline } = world
    const surface = world.surfaces.get(dice.pick(world.personas))
    if (surface === undefined) return
    const { identity, caller } = surface
    const to_session = caller.session_id
    send(world, {
      from: 'operator',
      to: identity,
      priority: 3,
      key: `key-${world.truth.wishes.length}`,
      to_session,
      ttl_s: LONG_TTL_S,
    })
    // Another session of the same persona drains while this one waits.
    if (dice.chance(0.5)) timeline.at(dice.between(0, 1_000), () => world.visit(identity))
  },
  broadcast(world) {
    // `turnbell mcp` sends a key with the request. A request without a key has the same effect, but is sent only once.
    const key = world.dice.chance(0.5) ? `all-${world.truth.wishes.length}` : null
    const common = { from: HERALD, to: EVERYBODY, priority: 3 }
    send(world, { ...common, key, to_session: null, ttl_s: LONG_TTL_S })
  },
  prompt(world) {
    world.surfaces.get(world.dice.pick(world.personas))?.prompt()
  },
  visit(world) {
    world.visit(world.dice.pick(world.personas))
  },
  completeByOperator(world) {
    const known = [...world.truth.signals.keys()]
    if (known.length === 0) return
    const signal_ids = [world.dice.pick(known)]
    void world.operator.call('signals/ack', { signal_ids, ...ackResult(world) })
  },
  cancel(world) {
    const known = [...world.truth.signals.values()]
    if (known.length === 0) return
    const waiting = known.filter(({ state }) => state === 'pending')
    const { signal_id } = world.dice.pick(waiting.length > 0 && world.dice.chance(0.8) ? waiting : known)
    void world.operator.call('signals/cancel', { signal_id })
  },
  replay(world) {
    const known = [...world.truth.signals.keys()]
    if (known.length === 0) return
    const signal_id = world.dice.pick(known)
    void world.operator.call('signals/replay', { signal_ids: [signal_id] })
  },

  askDaemon(world) {
    const { dice, operator, personas } = world
    const verb = dice.weighted({ notify_surface: 6, resume_surface: 3, status: 2, shutdown: 1 })
    void operator.ask(dice.pick(personas), verb)
  },
  wrap(world) {
    const { dice, operator, personas, timeline } = world
    const identity = dice.pick(personas)
    void operator.wrap(identity, dice.pick(['wrap', 'remove'] as const))
    timeline.at(dice.between(1_000, 600_000), () => void operator.bringBack(identity))
  },
  /**
   * No action runs for longer than the longest reminder interval (see `pauseAfter`). Where daemons are killed, one that
   * has just rung restarts between two reminders.
   */
  silence(world, plan) {
    if (plan.weights.killDaemon === undefined) return
    const { daemons, personas, timeline, truth } = world
    const to = personas.at(-1) ?? ''
    const common = { from: 'operator', to, priority: 3, to_session: null, ttl_s: LONG_TTL_S }
    send(world, { ...common, key: `key-${truth.wishes.length}` })
    timeline.at(BETWEEN_REMINDERS_MS, () => daemons.get(to)?.host.kill())
  },
  setAllClocks(world) {
    const { dice, wall } = world
    wall.set(dice.pick([-1, 1]) * dice.between(600_000, 12 * 3_600_000))
  },

  killHub(world) {
    world.hub?.host.kill()
  },
  stopHub(world) {
    void world.stopHub()
  },
  killHubAtDisk(world) {
    world.disk_fuse = { left: world.dice.between(1, 30), power: world.dice.chance(0.3) }
  },
  cutPower(world) {
    world.cutPower()
  },
  crashAmidst(world, plan) {
    // Performed while a write is on its way to the disk.
    const { dice, timeline } = world
    ACTIONS.burst(world)
    if (dice.chance(0.5)) ACTIONS.broadcast(world)
    if (dice.chance(0.3)) ACTIONS.failSync(world)
    const power = dice.chance(0.5)
    if (dice.chance(0.5)) {
      world.disk_fuse = { left: dice.between(1, 12), power }
      return
    }
    const longest_ms = 2 * (plan.sync_ms_max + world.network.faults.latency_ms_max)
    timeline.at(dice.between(0, longest_ms), () => (power ? ACTIONS.cutPower(world) : ACTIONS.killHub(world)))
  },
  usurpHub(world, plan) {
    // The hub is suspended, its lock goes stale and another hub takes over. Later the suspended hub resumes.
    if (world.hub === null) return
    const { dice, hub, operator, personas, timeline } = world
    const { host } = hub
    const { latency_ms_max } = world.network.faults
    let soon_ms = 0
    if (dice.chance(0.3)) {
      // Happens during a sync that fails; syncs of the other hub succeed.
      world.disk_faults = { ...world.disk_faults, sync_fails: 1 }
      ACTIONS.burst(world)
      soon_ms = dice.between(0, plan.sync_ms_max + latency_ms_max)
    } else if (plan.weights.wrap !== undefined && dice.chance(0.5)) {
      // Happens while the hub writes that a persona is wrapped. The other hub may restore the persona before this one
      // resumes.
      const identity = dice.pick(personas)
      void operator.wrap(identity, dice.pick(['wrap', 'remove'] as const))
      world.disk_faults = { ...world.disk_faults, sync_ms_max: WRAP_MS_MAX }
      soon_ms = dice.between(0, WRAP_MS_MAX + latency_ms_max)
      timeline.at(soon_ms + dice.between(500, 10_000), () => void operator.bringBack(identity))
    }
    timeline.at(soon_ms, () => {
      world.disk_faults = { ...world.disk_faults, sync_fails: 0, sync_ms_max: CALM_DISK.sync_ms_max }
      // Another hub may have replaced this one. Without this check, a second hub would be started.
      if (!host.alive || world.hub?.host !== host) return
      host.stop()
      world.startHub()
      timeline.at(world.dice.between(0, 20_000), () => {
        host.resume()
        // A hub that writes nothing notices the takeover at its next lock check.
        timeline.at(world.dice.between(0, LOCK_LOOK_MS), () => host.kill())
      })
    })
  },
  killDaemon(world) {
    world.daemons.get(world.dice.pick(world.personas))?.host.kill()
  },
  stopDaemon(world) {
    const daemon = world.daemons.get(world.dice.pick(world.personas))
    if (daemon !== undefined) void daemon.stop().then(() => daemon.host.kill())
  },
  rivalDaemon(world) {
    world.startRival(world.dice.pick(world.personas))
  },
  killSurface(world) {
    world.surfaces.get(world.dice.pick(world.personas))?.host.kill()
  },
  hangUpShim(world) {
    world.surfaces.get(world.dice.pick(world.personas))?.hangUp()
  },
  standStill(world) {
    const host = anyHost(world)
    if (host === null) return
    host.stop()
    world.timeline.at(world.dice.between(10, 120_000), () => host.resume())
  },
  sleepAll(world) {
    const hosts = world.hosts()
    for (const host of hosts) host.sleep()
    world.timeline.at(world.dice.between(1_000, 3_600_000), () => hosts.forEach((host) => host.wake()))
  },
  setOneClock(world) {
    anyHost(world)?.setClock(world.dice.pick([-1, 1]) * world.dice.between(1, 120_000))
  },

  cutLinks(world) {
    const host = anyHost(world)
    if (host !== null) world.network.cut(host)
  },
  part(world) {
    const host = anyHost(world)
    // A plain client confirms a drain with its next request; it runs on the hub's own machine.
    const plain = [...world.surfaces.values()].some((one) => one.host === host && one.manners.plain)
    if (host === null || plain) return
    const ways = world.dice.pick([['out', 'in'], ['out', 'in'], ['out'], ['in']] as const)
    world.timeline.at(world.dice.between(100, 120_000), world.network.part(host, ways))
  },
  roughNetwork(world, plan) {
    world.network.faults = world.dice.chance(0.5) ? plan.network : CALM
  },

  failSync(world) {
    world.disk_faults = { ...world.disk_faults, sync_fails: 0.3 }
    world.timeline.at(
      world.dice.between(1, 2_000),
      () => (world.disk_faults = { ...world.disk_faults, sync_fails: 0 }),
    )
  },
  fillDisk(world) {
    world.disk_faults = { ...world.disk_faults, full: 1 }
    world.timeline.at(
      world.dice.between(1, 5_000),
      () => (world.disk_faults = { ...world.disk_faults, full: 0 }),
    )
  },
  shortWrites(world) {
    world.disk_faults = { ...world.disk_faults, short_write: world.dice.pick([0, 0.5]) }
  },
  slowDisk(world) {
    const sync_ms_max = world.dice.pick([0, 2, 20, 500, 15_000])
    world.disk_faults = { ...world.disk_faults, sync_ms_max }
    world.timeline.at(
      world.dice.between(100, 30_000),
      () => (world.disk_faults = { ...world.disk_faults, sync_ms_max: CALM_DISK.sync_ms_max }),
    )
  },
} satisfies Record<string, Act>

export type Action = keyof typeof ACTIONS

/** Weights of the actions that are always enabled; the others are enabled per run. */
const WORK: Partial<Record<Action, number>> = { send: 30, burst: 4, prompt: 12 }
const EXTRAS: Partial<Record<Action, number>> = {
  sendToSession: 3,
  broadcast: 3,
  visit: 2,
  completeByOperator: 2,
  replay: 2,
  cancel: 2,
}
/** Weights of what an operator does with personas and their daemons. */
const OPERATING: Partial<Record<Action, number>> = { askDaemon: 6, wrap: 0.5 }
const TROUBLE: Partial<Record<Action, number>> = {
  ...{ killHub: 0.4, stopHub: 0.4, killHubAtDisk: 0.8, cutPower: 0.4, crashAmidst: 0.8, usurpHub: 0.4 },
  ...{ killDaemon: 1.5, stopDaemon: 1, rivalDaemon: 0.7, killSurface: 1.5, hangUpShim: 2 },
  ...{ standStill: 1.5, sleepAll: 0.3, setOneClock: 0.7 },
  ...{ cutLinks: 2, part: 1, roughNetwork: 2 },
  ...{ failSync: 0.5, fillDisk: 0.7, shortWrites: 1, slowDisk: 1 },
}

export function planOf(seed: number): Plan {
  const dice = new Dice(seed, -2)
  const some = (of: Partial<Record<Action, number>>) =>
    Object.fromEntries(Object.entries(of).filter(() => dice.chance(0.5)))
  const hostile = dice.chance(0.3)
  const plan: Plan = {
    personas: PERSONAS.slice(0, dice.between(1, PERSONAS.length)),
    weights: { ...WORK, ...some(EXTRAS), ...some(TROUBLE) },
    manners: mannersOf(dice),
    network: {
      latency_ms_max: dice.pick([0, 5, 50, 2_000]),
      lose: hostile ? 0.1 : 0,
      repeat: hostile ? 0.1 : 0,
      reorder: hostile ? 0.1 : 0,
      call_lost: dice.pick([0, 0.1]),
      answer_lost: dice.pick([0, 0.1]),
      answer_slow: dice.pick([0, 0.2]),
    },
    sync_ms_max: dice.pick([0, 2, 20]),
    link_agents: dice.chance(0.3),
    replies: null,
  }
  // Drawn last, so that adding an action here does not change the rest of a seed's plan.
  Object.assign(plan.weights, some(OPERATING))
  // Enabled in few runs: after a clock change the rules allow more outcomes of expiry.
  if (dice.chance(0.2)) plan.weights.setAllClocks = 0.1
  if (dice.chance(0.2)) {
    plan.weights.silence = 0.5
    plan.manners = withHabit(plan.manners, 'nothing', 10)
  }
  if (dice.chance(0.2)) plan.manners = withHabit(plan.manners, 'drain and change shims', 3)
  if (dice.chance(0.2)) {
    // A wrapped sender gets no reply, and the time at which it was wrapped is known less exactly.
    plan.replies = plan.weights.wrap === undefined ? 'sender' : 'operator'
    if (plan.replies === 'sender') plan.weights.completeByOperator = 3
    else delete plan.weights.completeByOperator
    plan.manners = withHabit(plan.manners, 'drain and ack', 3)
  }
  return plan
}

function withHabit(manners: Manners, habit: TurnHabit, weight: number): Manners {
  return { ...manners, habits: { ...manners.habits, [habit]: weight } }
}

function mannersOf(dice: Dice): Manners {
  if (dice.chance(0.3)) return GOOD
  const fates: BellFate[] = ['swallowed', 'late', 'twice', 'refused', 'unanswered', 'slow']
  const habits: TurnHabit[] = [
    ...(['drain one', 'drain all', 'drain and die', 'nothing', 'drain and ack'] as const),
    'drain and be interrupted',
  ]
  const share = <K extends string>(of: K[], usual: K) =>
    ({
      [usual]: 3,
      ...Object.fromEntries(of.filter(() => dice.chance(0.4)).map((one) => [one, dice.pick([1, 1, 10])])),
    }) as Record<K, number>
  return {
    bells: share<BellFate>(fates, 'turn'),
    habits: share<TurnHabit>(habits, 'drain and confirm'),
    takes: dice.pick([0, 0.5, 1]),
    looks: dice.pick([0, 0.5, 1]),
    delivery: dice.chance(0.8) ? 'push' : 'pull',
    plain: dice.chance(0.3),
  }
}

export function act(world: World, plan: Plan): Action {
  const action = world.dice.weighted(plan.weights)
  ACTIONS[action](world, plan)
  return action
}

/** Returns the pause before the next step, in milliseconds: usually short, occasionally minutes. */
export function pauseAfter(action: Action, dice: Dice): number {
  if (action === 'silence') return dice.between(...SILENCE_MS)
  const kind = dice.weighted({ none: 2, moment: 10, seconds: 3, minutes: 0.05, hour: 0.002 })
  switch (kind) {
    case 'none':
      return 0
    case 'moment':
      return dice.between(1, 300)
    case 'seconds':
      return dice.between(1_000, 15_000)
    case 'minutes':
      return dice.between(60_000, 600_000)
    case 'hour':
      return 3_700_000
  }
}
