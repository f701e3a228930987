/**
 * The complete simulated system: one hub, a daemon for each persona, surfaces, agents and senders, in one process and
 * on one clock, together with the faults. The hub and the daemons are the product's own code.
 *
 * After FoundationDB's deterministic simulation (J. Zhou et al., SIGMOD 2021), with faults enabled per run (swarm
 * testing, A. Groce et al., ISSTA 2012).
 */
import type { TurnbellError } from '../../../src/contracts/errors/errors.ts'
import type { DrainResult } from '../../../src/contracts/signal.ts'
import type { StopReason } from '../../../src/daemon/runtime.ts'
import { MemoryDisk } from '../../support/disk/memory-disk.ts'
import { Dice } from '../../support/dice.ts'
import { Violation } from '../../support/violation.ts'
import { BellWatch } from '../promises/bell-watch.ts'
import { Caller } from './caller.ts'
import { MetricsWatch } from '../promises/metrics-watch.ts'
import { Network } from './network.ts'
import { Host } from './host.ts'
import { LeaseWatch } from '../promises/lease-rules.ts'
import { LinkAgent } from './link-agent.ts'
import { SimLocalSockets } from './local-sockets.ts'
import { Operator } from './operator.ts'
import { CALM_DISK, type DiskFaults, type DiskFuse } from './process-disk.ts'
import { RecordPlatters } from './record-platters.ts'
import { startDaemon, type DaemonWatch, type SimDaemon } from './sim-daemon.ts'
import { startHub, type HubWorld, type SimHub } from './sim-hub.ts'
import { GOOD, Surface, type Manners, type SurfaceWorld } from './surface.ts'
import { Timeline } from '../timeline.ts'
import { checkLeases } from '../promises/store-rules.ts'
import { Truth } from '../promises/truth.ts'
import { Wall } from './wall.ts'
import { WrapWatch } from '../promises/wrap-watch.ts'
import { asViolation, isExcused } from '../promises/excuses.ts'

/** Maximum time until an ended process is restarted. */
export const RESTART_MS_MAX = 3_000
/** Longer than the slowest disk needs for the current operation and those queued after it. */
const LOOK_MS_MAX = 60_000
const LOOK_MS = 10
const VISITOR_TAKES = 20

export class World implements HubWorld, SurfaceWorld {
  readonly timeline = new Timeline()
  readonly wall = new Wall(this.timeline)
  dice: Dice
  readonly network: Network
  readonly sockets: SimLocalSockets
  platters = new MemoryDisk()
  readonly records = new RecordPlatters()
  disk_faults: DiskFaults = CALM_DISK
  disk_fuse: DiskFuse | null = null
  readonly truth: Truth
  readonly bells: BellWatch
  readonly metrics = new MetricsWatch()
  readonly leases = new LeaseWatch()
  readonly wraps: WrapWatch
  readonly operator: Operator
  readonly personas: readonly string[]
  hub: SimHub | null = null
  /** Hubs that were stopped when another one replaced them. */
  readonly stale_hubs: Host[] = []
  /** Hubs whose end has been counted: a replaced hub still runs for a moment. */
  private readonly written_off = new WeakSet<Host>()
  /** The last process that acquired the home directory, as a running or starting hub. */
  private owner: Host | null = null
  readonly daemons = new Map<string, SimDaemon>()
  readonly memories = new Map<string, string>()
  /** Daemons that were replaced by another, and those that ended. */
  readonly rivals: Host[] = []
  readonly surfaces = new Map<string, Surface>()
  readonly agents: LinkAgent[] = []
  /** Whether ended processes are restarted. */
  supervised = true
  manners: Manners = GOOD
  /** Receiver of the reply to an ack; null if no sender waits for one. */
  replies: 'sender' | 'operator' | null = null
  turns = 0
  /** Possible receivers of a wish. */
  audience: readonly string[]
  private broken: Violation | null = null
  private hubs = 0
  private visitors = 0
  private last_event_seq = 0
  readonly watch: DaemonWatch
  /** The hub that is starting. */
  private starting: Host | null = null

  constructor(seed: number, personas: readonly string[]) {
    this.dice = new Dice(seed, -1)
    this.personas = personas
    this.audience = personas
    this.network = new Network(this)
    this.sockets = new SimLocalSockets(this)
    this.truth = new Truth({
      now: () => this.timeline.now,
      wall: this.wall,
      platters: () => this.platters,
    })
    this.bells = new BellWatch(this)
    this.wraps = new WrapWatch({
      now: () => this.timeline.now,
      isCurrent: (hub) => this.hub === hub,
      addressee: (signal_id) => this.truth.addressee(signal_id),
    })
    this.operator = new Operator(this)
    const { bells, metrics } = this
    const guarded =
      <A extends unknown[]>(check: (...args: A) => void) =>
      (...args: A) =>
        this.guard(() => check(...args))
    this.watch = {
      onLink: guarded((daemon, up) => {
        bells.onLink(daemon, up)
        metrics.onLink(daemon, up)
      }),
      onFrame: guarded((daemon, frame) => bells.onFrame(daemon, frame)),
      onSaid: guarded((daemon, frame) => {
        bells.onSaid(daemon, frame)
        metrics.onSaid(daemon, frame, daemon.status())
      }),
      onReport: guarded((daemon, shim, report) => bells.onReport(daemon, shim, report)),
      onShimGone: guarded((daemon, shim) => bells.onShimGone(daemon, shim)),
      onBell: guarded((daemon, shim, bell, asked) => bells.onBell(daemon, shim, bell, asked)),
      onBellAnswered: guarded((daemon, bell, accepted) => bells.onBellAnswered(daemon, bell, accepted)),
      onAsking: guarded((daemon, verb) => bells.onAsking(daemon, verb)),
      onAsked: guarded((daemon, verb, answer, before) => bells.onAsked(daemon, verb, answer, before)),
      onLogged: (host, fields, message) => this.onLogged(host, fields, message),
      onBug: (host, error) => this.onThrown(host, error),
      onStopped: (daemon, why) => this.stopDaemon(daemon, why),
    }
  }

  /** The first violation, or null while all rules hold. */
  get violation(): Violation | null {
    return this.broken
  }

  /** Advances time and checks every rule on the way. */
  async pass(ms: number): Promise<void> {
    await this.timeline.pass(ms, () => {
      if (this.broken !== null) throw this.broken
    })
    this.checkNow()
    if (this.broken !== null) throw this.broken
  }

  /** Waits for a query to the hub while time passes, because the hub may have to write before it responds. */
  async looked(look: Promise<void>): Promise<void> {
    let looking = true
    void look.catch(() => undefined).then(() => (looking = false))
    await this.pass(0)
    for (let waited = 0; looking && waited < LOOK_MS_MAX; waited += LOOK_MS) await this.pass(LOOK_MS)
    if (looking) throw new Violation('everything heals', `the hub has told nothing for ${LOOK_MS_MAX} ms`)
    await look
  }

  // --- the hub

  startHub(): void {
    if (this.starting !== null) return
    const host = new Host(`hub-${++this.hubs}`, this, this.hub?.host.clockOffset ?? 0)
    this.starting = host
    host.onEnd(() => {
      if (this.starting === host) this.starting = null
      this.hubGone(host)
    })
    startHub(host, this, this.last_event_seq)
      .then(
        async (hub) => {
          if (!host.alive) return
          // The previous hub may be stopped and resume later.
          if (this.hub?.host.alive === true) this.stale_hubs.push(this.hub.host)
          this.hub = hub
          this.starting = null
          this.network.listen(hub)
          await this.truth
            .checkKept(hub, this.whoWasThere, { of_what_is_over: 'some' })
            .catch((error: unknown) => {
              if (host.alive) throw error
            })
        },
        (error: unknown) => {
          if (!host.alive) return
          host.kill()
          if (isExcused(error)) return
          this.guard(() => {
            throw new Violation('a hub starts', String(error instanceof Error ? error.stack : error))
          })
        },
      )
      .catch((error: unknown) => this.note(error))
  }

  /** Called when a process ended, as a running or starting hub. */
  private hubGone(host: Host): void {
    if (this.owner === host) this.writeOff(host)
    if (this.hub?.host === host) this.hub = null
    if (this.hub === null) this.restartLater(() => this.hub === null && this.startHub())
  }

  async stopHub(): Promise<void> {
    const { hub } = this
    if (hub === null) return
    await hub.stop().catch(() => undefined)
    hub.host.kill()
  }

  // --- daemons, surfaces, agents

  startDaemon(identity: string): void {
    if (this.daemons.get(identity)?.host.alive !== true) this.startRival(identity)
  }

  /** Starts a second daemon for the same persona, as another machine may do. It replaces the first. */
  startRival(identity: string): void {
    const former = this.daemons.get(identity)
    if (former !== undefined) this.rivals.push(former.host)
    const name = `daemon of ${identity} #${this.timeline.happened}`
    const host = new Host(name, this, former?.host.clockOffset ?? 0)
    const again = () => this.daemons.get(identity)?.host === host && !this.operator.keepsAway(identity)
    host.onEnd(() => this.restartLater(() => again() && this.startDaemon(identity)))
    startDaemon(host, identity, this).then(
      (daemon) => void (host.alive && this.daemons.set(identity, daemon)),
      (error: unknown) => this.onThrown(host, error),
    )
  }

  private stopDaemon(daemon: SimDaemon, why: StopReason): void {
    if (why.kind === 'lifecycle') this.operator.onDismissed(daemon.identity)
    void daemon.stop().then(() => daemon.host.kill())
  }

  startSurface(identity: string): void {
    this.surfaces.get(identity)?.host.kill()
    const host = new Host(`surface of ${identity}`, this)
    host.onEnd(() =>
      this.restartLater(() => this.surfaces.get(identity)?.host === host && this.startSurface(identity)),
    )
    host.act(() => this.surfaces.set(identity, new Surface(host, identity, this.manners, this)))
  }

  startAgent(identity: string): void {
    this.audience = [...this.personas, identity]
    const host = new Host(`agent of ${identity}`, this)
    host.onEnd(() => this.restartLater(() => this.startAgent(identity)))
    host.act(() => this.agents.push(new LinkAgent(host, identity, this)))
  }

  /** Personas that existed during the whole period: a broadcast reaches all of them. */
  readonly whoWasThere = (from: number, until: number): string[] =>
    this.personas.filter((identity) => this.wraps.wasThere(identity, from, until))

  /** Another session of a persona drains without a surface. */
  visit(identity: string): void {
    const host = new Host(`visitor of ${identity}`, this)
    const session = `visitor-${++this.visitors}`
    const caller = new Caller(host, identity, session, this.network, this.callers)
    void caller.drain(VISITOR_TAKES).then(async (drain) => {
      if (drain?.drain_id != null) await caller.confirm(drain.drain_id)
      host.kill()
    })
  }

  private restartLater(start: () => unknown): void {
    this.timeline.at(this.dice.between(10, RESTART_MS_MAX), () => {
      if (this.supervised) start()
    })
  }

  // --- the whole machine

  /** Cuts the power: all processes end at once, and only a part of the unsynced data survives. */
  cutPower(): void {
    const { dice } = this
    const hosts = [...this.hosts(), ...this.stale_hubs.splice(0), ...this.rivals]
    this.platters = this.platters.afterPowerCut((max) => dice.between(0, max))
    this.platters.failed_sync_loses = true
    for (const host of hosts) host.kill()
    this.records.cutPower(dice).catch((error: unknown) => this.note(error))
  }

  // --- what is watched

  readonly callers = {
    onArrived: (drain: DrainResult) => this.guard(() => this.truth.onArrived(drain)),
    onReceived: (_session: string, drain: DrainResult) => this.guard(() => this.truth.onReceived(drain)),
    onAsking: (path: string, body: object) => {
      this.truth.onAsking(path, body)
      this.wraps.onAsking(path, body)
    },
    onNotAsked: (path: string, body: object) => this.truth.onNotAsked(path, body),
  }

  /** The previous hub publishes nothing more; the new one may publish what it left unpublished. */
  onTaken(host: Host): void {
    if (this.owner !== null) this.writeOff(this.owner)
    this.owner = host
  }

  private writeOff(host: Host): void {
    if (this.written_off.has(host)) return
    this.written_off.add(host)
    this.truth.onHubGone()
  }

  onEvent: HubWorld['onEvent'] = (host, event) => {
    this.last_event_seq = event.seq
    this.guard(() => {
      this.truth.onEvent(event)
      this.leases.onEvent(this.hub?.host === host ? this.hub : null, event)
    })
  }

  onHeard: HubWorld['onHeard'] = (hub, socket, text) =>
    this.guard(() => this.metrics.onHeard(hub, socket, text))

  onReached: HubWorld['onReached'] = (hub, asked) => this.wraps.onReached(hub, asked)

  onAnswer: HubWorld['onAnswer'] = (hub, asked, told, began) =>
    this.guard(() => {
      this.truth.onAnswer(hub, asked, told, began)
      if (asked.path === '/api/signals/pending' && told.status === 200)
        this.leases.onDrained(hub, told.body as DrainResult)
      this.wraps.onAnswer(hub, asked, told, began)
    })

  holdsBell(identity: string, session_id: string | null): boolean {
    const surface = this.surfaces.get(identity)
    return surface?.caller.session_id === session_id && surface.holds
  }

  onTurn(): void {
    this.turns += 1
  }

  onLogged(host: Host, fields: object, message: string): void {
    const { err } = fields as { err?: unknown }
    if (isExcused(err)) return
    this.note(
      new Violation(
        'nothing breaks',
        `${host.name}: ${message}: ${String(err instanceof Error ? err.stack : err)}`,
      ),
    )
  }

  onThrown(host: Host, error: unknown): void {
    if (!host.alive && isExcused(error)) return
    if (error instanceof Violation) return this.note(error)
    host.kill()
    if (isExcused(error)) return
    this.note(
      new Violation(
        'nothing breaks',
        `${host.name} ended by ${String(error instanceof Error ? error.stack : error)}`,
      ),
    )
  }

  onFatal(host: Host, error: TurnbellError): void {
    const last = host.name === `hub-${this.hubs}`
    if (error.code === 'store_fenced' ? !last : isExcused(error)) return
    this.note(new Violation('nothing breaks', `${host.name}: ${String(error.stack)}: ${String(error.cause)}`))
  }

  private guard(check: () => void): void {
    try {
      check()
    } catch (error) {
      this.note(error)
    }
  }

  private note(error: unknown): void {
    this.broken ??= asViolation(error)
  }

  /** Scrapes the hub's metrics if the hub can respond. */
  async scrape(): Promise<void> {
    const { hub } = this
    if (hub?.host.awake === true && hub.fatal === null) await this.metrics.check(hub, this.personas)
  }

  private checkNow(): void {
    const { hub } = this
    if (hub !== null && hub.host.alive) {
      this.guard(() => checkLeases(hub))
      // Like the real process: a hub whose disk rejected a write keeps running to report it.
      if (hub.fatal?.code === 'store_fenced' && hub.host.awake) hub.host.kill()
    }
    for (const daemon of this.daemons.values()) {
      if (daemon.host.awake) this.guard(() => this.bells.checkStatus(daemon, daemon.status()))
    }
  }

  // --- the end

  /** Ends all processes without a goodbye. */
  end(): void {
    this.supervised = false
    for (const host of [...this.hosts(), ...this.stale_hubs, ...this.rivals, this.operator.host]) host.kill()
  }

  hosts(): Host[] {
    return [
      this.hub?.host,
      this.starting,
      ...[...this.daemons.values()].map(({ host }) => host),
      ...[...this.surfaces.values()].map(({ host }) => host),
      ...this.agents.map(({ host }) => host),
    ].filter((host): host is Host => host != null)
  }
}
