/**
 * The recovery phase at the end of a run: all faults are removed, every actor behaves well, and everything pending must
 * be delivered. When the system is at rest, the power is cut once more.
 */
import { LIMITS } from '../../src/contracts/limits/limits.ts'
import { Violation } from '../support/violation.ts'
import type { Host } from './world/host.ts'
import { CALM, type NetworkFaults } from './world/network.ts'
import { CALM_DISK } from './world/process-disk.ts'
import { checkDelivered } from './promises/store-rules.ts'
import { GOOD } from './world/surface.ts'
import { RESTART_MS_MAX, type World } from './world/world.ts'
import { send } from './world/senders.ts'

/**
 * Longer than any wait in the product. The longest is the one with an idle surface and a backlog, doubled by lost
 * doorbells.
 */
const HEALING_MS = 15 * 60_000
const TURNS_MS = 2 * 60_000
/** Longer than the maximum pause between two attempts to reach the hub. */
const RECONNECTED_MS = 2 * 60_000
/** Maximum number of turns: each turn takes a part of a long queue. */
const QUIET_TURNS_MAX = 50

export interface Storm {
  network: Pick<NetworkFaults, 'lose' | 'reorder'>
  /** Whether some signals were addressed to one session only. */
  for_sessions: boolean
}

/** Rejects with a Violation if a signal is not delivered or an invariant of a system at rest is broken. */
export async function calm(world: World, storm: Storm): Promise<void> {
  const { lose, reorder } = storm.network
  await heal(world, { lossy: lose + reorder > 0, fresh_sessions: world.dice.chance(0.5) })
  await world.pass(HEALING_MS)
  // The hub may not have been notified that a session ended; its leases then expire after `lease_ms`.
  if (storm.for_sessions || leftLeased(world).length > 0) await world.pass(LIMITS.lease_ms)
  await checkAtRest(world, 'loud')
  await takeWhatIsQuiet(world)
  await makeFinal(world)
  // An unconfirmed drain is released when its lease expires, and its signals are drained again.
  if (leased(world).length > 0) {
    await world.pass(LIMITS.lease_ms)
    await takeWhatIsQuiet(world)
  }
  await checkAtRest(world, 'all')
  await checkLast(world)
}

async function heal(
  world: World,
  { lossy, fresh_sessions }: { lossy: boolean; fresh_sessions: boolean },
): Promise<void> {
  world.disk_faults = CALM_DISK
  world.disk_fuse = null
  world.network.faults = CALM
  world.network.heal()
  world.manners = GOOD
  world.supervised = true
  goOn([...world.stale_hubs, ...world.rivals])
  goOn(world.hosts())
  if (world.hub === null) world.startHub()
  await world.pass(60_000)
  // Frames lost by a middlebox are recovered with the next list.
  if (lossy) world.network.cutAll()
  for (const identity of world.operator.ever_wrapped) await world.looked(world.operator.bringBack(identity))
  for (const identity of world.personas) {
    world.startDaemon(identity)
    const surface = world.surfaces.get(identity)
    if (fresh_sessions || surface?.host.alive !== true || surface.manners.delivery === 'pull') {
      world.startSurface(identity)
    } else surface.manners = GOOD
    // A daemon whose doorbells were ignored rings again only after a new signal.
    const key = `last for ${identity}`
    send(world, { from: 'operator', to: identity, priority: 3, key, to_session: null, ttl_s: 86_400 })
  }
}

function goOn(hosts: readonly Host[]): void {
  for (const host of hosts) {
    host.wake()
    host.resume()
  }
}

/** Quiet signals wait for a turn that begins for another reason, or for an operator who requests a doorbell. */
async function takeWhatIsQuiet(world: World): Promise<void> {
  const rings = world.dice.chance(0.5)
  for (let turn = 0; turn < QUIET_TURNS_MAX && waiting(world) > 0; turn++) {
    for (const surface of world.surfaces.values()) {
      if (rings) void world.operator.ask(surface.identity, 'notify_surface')
      else surface.prompt()
    }
    await world.pass(TURNS_MS)
  }
}

/**
 * The end of a turn may have been processed too early to confirm the drain of that turn. The end of the next turn
 * confirms it without another drain.
 */
async function makeFinal(world: World): Promise<void> {
  for (const surface of world.surfaces.values()) {
    surface.manners = { ...GOOD, looks: 0 }
    surface.prompt()
  }
  await world.pass(TURNS_MS)
}

/** Returns the number of signals that have not been drained yet. */
/** The operator has no agent that drains the signals sent to it. */
const waiting = ({ hub }: World) =>
  hub === null ? 0 : hub.store.health().pending - hub.store.pendingCount('operator')

/** Returns the drains that are not confirmed yet. */
const leased = (world: World) => world.hub?.store.leases() ?? []

/** Returns the leases of sessions that have ended. */
function leftLeased(world: World) {
  const sessions = new Set([...world.surfaces.values()].map(({ caller }) => caller.session_id))
  for (const agent of world.agents) sessions.add(agent.session)
  return leased(world).filter(({ session_id }) => !sessions.has(session_id))
}

/** Throws a Violation if any signal or lease is still pending. */
async function checkAtRest(world: World, which: 'loud' | 'all'): Promise<void> {
  const { hub } = world
  if (hub === null) throw new Violation('everything heals', 'there is no hub')
  await world.looked(checkDelivered(world.truth, hub, which))
  await world.scrape()
  if (which === 'all' && waiting(world) > 0)
    throw new Violation('everything arrives', `${waiting(world)} wait still, says the store`)
  const [left] = leftLeased(world)
  if (left !== undefined)
    throw new Violation('what a lost session held goes back', `${left.drain_id} of ${left.session_id}`)
  const [open] = leased(world)
  if (which === 'all' && open !== undefined)
    throw new Violation('the end of a turn confirms its drain', `${open.drain_id} of ${open.session_id}`)
  const stale = world.rivals.find(({ alive }) => alive)
  if (stale !== undefined) throw new Violation('a replaced daemon ends', stale.name)
  const rows = hub.hub.personas.list()
  for (const [identity, daemon] of world.daemons) {
    const { state, pending_count, delivery } = daemon.status()
    const pending = hub.store.pendingCount(identity)
    const daemon_there = rows
      .find((one) => one.identity === identity)
      ?.registrations.some(({ kind, connected }) => kind === 'daemon' && connected)
    if (daemon_there !== true)
      throw new Violation('the registry tells the truth', `it knows no daemon of ${identity}`)
    if (state !== 'CONNECTED')
      throw new Violation('everything heals', `the daemon of ${identity} is ${state}`)
    if (pending_count !== pending)
      throw new Violation('status tells the truth', `${identity}: ${pending_count} pending, ${pending} wait`)
    if (which === 'all' && delivery !== 'ok')
      throw new Violation('status tells the truth', `${identity}: ${delivery}, and all of it was drained`)
  }
}

/** After the system has come to rest the power is cut. Afterwards the same state must be on disk, still at rest. */
async function checkLast(world: World): Promise<void> {
  world.cutPower()
  await world.pass(2 * RESTART_MS_MAX)
  if (world.hub === null) throw new Violation('a hub starts', 'there is none after the last power cut')
  await world.looked(world.truth.checkKept(world.hub, world.whoWasThere, { of_what_is_over: 'all' }))
  await world.pass(RECONNECTED_MS)
  await checkAtRest(world, 'all')
}
