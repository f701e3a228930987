/**
 * A day of a team in short time: a real hub, a real daemon for each persona, their surfaces and agents, senders, and
 * random kills and stops; on a bad day also faults of the machine and hostile callers. Then a recovery phase in which
 * everything must be delivered, and the totals.
 */
import fs from 'node:fs'
import path from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { systemClock } from '../../src/system/clock.ts'
import type { Home } from '../../src/system/config/home.ts'
import { createIds, systemRandom } from '../../src/system/random.ts'
import { Dice } from '../support/dice.ts'
import { Violation } from '../support/violation.ts'
import { Agent } from './agent.ts'
import { FALSE_BELL } from './bell-rules.ts'
import { BridgeProcess } from './bridge-process.ts'
import { Chaos } from './chaos.ts'
import { clockAt } from './day.ts'
import { Door } from './door.ts'
import { EventStream } from './event-stream.ts'
import { Faults } from './faults/faults.ts'
import { HostileCaller } from './faults/hostile-caller.ts'
import { Place } from './faults/place.ts'
import { portBelowOutgoing } from './faults/port.ts'
import { countsOf, diskBelow, restartsOf, type SoakResult } from './figures.ts'
import { Highest } from './highest.ts'
import { HOSTILE, hostileTarget, MEMORY_MIB_MAX } from './hostile/hostile.ts'
import { Ledger, type Fate } from './ledger.ts'
import { descriptorsNotFlat, notFlat, Scales } from './scales.ts'
import { Supervised } from './supervised.ts'
import { Team } from './team.ts'
import { Traffic } from './traffic.ts'

export interface SoakOptions {
  minutes: number
  personas: number
  seed: number
  kills_per_minute: number
  /** For bad days; `worker` is the bundle of `hostile/worker.ts`. */
  faults?: { per_minute: number; worker: string }
  /** Parent directory of the home. */
  directory?: string
  /** Prints a progress line. */
  say(line: string): void
  /** `killNow` kills every process at once, for an exit handler; `figures` returns the current figures. */
  onStarted?(started: { killNow: () => void; figures: () => SoakResult; home: string }): void
  /** Called at the first broken promise. */
  onBroken?(): void
}

/** Shares of the day: before the first kill, and after the last kill of the hub. */
const WARM_UP = 0.1
const HUB_STANDS_FROM = 0.75
/** The measurement of the hub starts some time after its last restart, when it is warm. */
const MARKS = [
  { mark: 'start', at: WARM_UP },
  { mark: 'middle', at: 0.5 },
  { mark: 'watched', at: 0.8 },
] as const
const TICK_MS = 100
const WEIGH_MS = 2_000
const PROGRESS_MS = 30_000
const CALM_MS_MAX = 240_000
/** The driver itself was suspended for longer than this, so its timing is unreliable. */
const ABSENT_MS = 2_000
const STARTS_AT_ONCE = 4
/** Each signal has several journal lines, each with a header; the payload is written once. */
const JOURNAL_BYTES_PER_SIGNAL_MAX = 8_192
/** Number of drains after which an agent must have received a doorbell. */
const DRAINS_WITHOUT_BELL_MAX = 20
/** Traffic of bad days relative to ordinary ones, because they are shorter. */
const BAD_DAYS_TIMES = 4
/** Share of sessions that call through a bridge, on bad days. */
const BRIDGED = 0.5
const CONFIG = { daemon: { reconnect_patience_ms: 15_000 } }

export async function soak(options: SoakOptions): Promise<SoakResult> {
  const world = new Soak(options)
  options.onStarted?.({
    ...{ killNow: () => world.killNow(), figures: () => world.figures(), home: world.directory },
  })
  let failed = true
  try {
    const result = await world.run()
    failed = false
    return result
  } finally {
    await world.close()
    world.leave(failed)
  }
}

class Soak {
  private readonly options: SoakOptions
  readonly directory: string
  private readonly place: Place
  private readonly home: Home
  private readonly names: string[]
  private readonly witnesses: Set<string>
  private readonly hub: Supervised
  private readonly daemons: Map<string, Supervised>
  private readonly agents = new Map<string, Agent>()
  private readonly broken: Violation[] = []
  private readonly ledger: Ledger
  private readonly door: Door
  private readonly team: Team
  private readonly scales: Scales
  private readonly chaos: Chaos
  private faults: Faults | null = null
  private hostile: HostileCaller | null = null
  private readonly hub_memory: Highest
  private readonly ids = createIds(systemClock, systemRandom)
  private readonly bridge_dice: Dice
  private events: EventStream | null = null
  private fate: Fate | null = null
  private began = 0
  /** Number of receipts when the measurement of the hub began. */
  private receipts_before: number | null = null
  private open = true

  constructor(options: SoakOptions) {
    this.options = options
    this.bridge_dice = this.dice(5)
    const { faults } = options
    this.place = new Place(options.directory, faults && { long_name: this.dice(3).chance(0.5) })
    this.home = this.place.home
    this.directory = this.home.root
    this.names = Array.from(
      { length: options.personas },
      (_, index) => `p${String(index + 1).padStart(2, '0')}`,
    )
    const watched = this.names.slice(0, Math.max(2, Math.round(options.personas / 10)))
    // On bad days every daemon may be killed.
    this.witnesses = new Set(faults === undefined ? watched : [])
    const dice = this.dice(0)
    const supervised = (name: string, args: string[], ready: RegExp) =>
      new Supervised({
        ...{ name, ready, args: [...args, '--home', this.directory], env: this.place.env },
        restartPause: () => dice.between(50, 1_500),
        mayFailToStart: () => this.faults?.diskIsBad === true,
        onBroken: (violation) => this.onBroken(violation),
      })
    // With faults the port is fixed, so that attacks and waiting callers reach each restarted hub at once.
    const hub_args = faults === undefined ? ['hub', '--port', '0'] : ['hub']
    this.hub = supervised('hub', hub_args, /^turnbell hub ready (http\S+)$/)
    this.hub_memory = new Highest(() => this.hub.pid)
    this.daemons = new Map(
      this.names.map((name) => [
        name,
        supervised(name, ['daemon', '--persona', name], /^turnbell daemon ready (\S+) (\S+)$/),
      ]),
    )
    this.ledger = new Ledger({
      lives: (identity, session_id) => this.agents.get(identity)?.session_id === session_id,
      knows: (identity) => this.daemons.has(identity),
      latest: () => this.place.faulty?.clock.furthest() ?? Date.now(),
      onBroken: (violation) => this.onBroken(violation),
    })
    this.door = new Door(() => this.hub.match?.[1] ?? null)
    this.team = new Team({
      ...{ home: this.home, names: this.names, door: this.door, env: this.place.env },
      others: faults === undefined ? [] : [HOSTILE],
      operatorToken: () => this.operatorToken(),
    })
    this.scales = new Scales([this.hub, ...watched.map((name) => this.daemons.get(name) as Supervised)])
    this.chaos = new Chaos({
      ...{ dice: this.dice(1), hub: this.hub, daemons: this.daemons, agents: this.agents },
      ...{ witnesses: this.witnesses, kills_per_minute: options.kills_per_minute },
      bridges: faults !== undefined,
    })
  }

  async run(): Promise<SoakResult> {
    const { names } = this
    const personas = Object.fromEntries(names.map((name) => [name, { surface: 'mcp' }]))
    const hub = this.options.faults === undefined ? {} : { hub: { port: await portBelowOutgoing() } }
    // YAML is a superset of JSON.
    fs.writeFileSync(
      path.join(this.directory, 'config.yaml'),
      JSON.stringify({ ...CONFIG, ...hub, personas }),
    )
    await this.startEverything()
    this.door.hangUp()
    // Measured before any traffic, as a baseline for descriptors.
    this.scales.weigh('idle')

    const traffic = this.traffic()
    await this.prepareFaults(traffic)
    this.began = performance.now()
    await this.passTime(traffic)
    await this.faults?.end()
    // A broken promise ended the day early; the remaining checks would be meaningless.
    if (this.broken.length === 0) {
      this.fate = await this.comeToRest(traffic)
      this.checkRung()
      this.checkScales()
    }
    const { counts } = this.ledger
    if (counts.duplicates > counts.released)
      this.onBroken(
        new Violation('duplicates <= leases released', `${counts.duplicates}, ${counts.released}`),
      )
    await this.close()
    const figures = this.figures()
    const { journal } = figures.disk
    // The hostile caller's signals have no receipts here.
    if (this.faults === null && journal > JOURNAL_BYTES_PER_SIGNAL_MAX * (counts.receipts + 1_000))
      this.onBroken(new Violation('the journal is bounded', `${journal} bytes, ${counts.receipts} receipts`))
    return figures
  }

  /** Returns the current figures. */
  figures(): SoakResult {
    const { counts } = this.ledger
    return {
      ...{ home: this.directory, broken: this.broken, signals: counts, fate: this.fate },
      ...{ mishaps: this.chaos.counts, restarts: restartsOf(this.hub, this.daemons.values()) },
      ...{ agents: this.agentCounts(), calls: this.door.counts, scales: this.scales.read() },
      ...{ faults: this.faults?.counts ?? null, strikes: this.hostile?.strikes ?? {} },
      ...{ hub_mib_max: this.hub_memory.mib, refused_starts: this.refusedStarts() },
      signals_watched: this.receipts_before === null ? 0 : counts.receipts - this.receipts_before,
      disk: diskBelow(this.home),
    }
  }

  killNow(): void {
    for (const agent of this.agents.values()) agent.close()
    for (const process of [this.hub, ...this.daemons.values()]) process.killNow()
    this.leave()
  }

  /** Unmounts the disk; keeps the home if a promise was broken or the soak failed. */
  leave(failed = false): void {
    this.place.close(failed || this.broken.length > 0)
  }

  /** Stops the daemons first, then the hub; each must exit cleanly. */
  async close(): Promise<void> {
    if (!this.open) return
    this.open = false
    for (const agent of this.agents.values()) agent.close()
    await this.events?.close()
    const ended = async (process: Supervised) => {
      const how = await process.close()
      if (how !== 0 && how !== null)
        this.onBroken(new Violation('what is asked to end does', `${process.name} ended with ${how}`))
    }
    await Promise.all([...this.daemons.values()].map(ended))
    await ended(this.hub)
    this.door.hangUp()
    this.hub_memory.close()
  }

  // --- on the way

  /** Runs the end of the day and returns the final states. */
  private async comeToRest(traffic: Traffic): Promise<Fate | null> {
    this.say('the day is over; all signals have to be delivered')
    await this.calm(traffic)
    const fate = this.ledger.audit(await this.team.views())
    await this.settle(this.options.minutes * 60_000)
    await this.checkDaemons()
    return fate
  }

  private async startEverything(): Promise<void> {
    await this.hub.start()
    this.events = new EventStream({
      url: () => this.hub.match?.[1] ?? null,
      token: () => this.operatorToken(),
      onEvent: (event) => {
        this.ledger.event(event)
        // A hub whose disk failed restarts within its process and does not report the outcome of its last changes.
        if (event.type === 'hub.started' && this.faults !== null) this.ledger.onHubGone()
      },
      onBreak: this.onStreamBreak(),
      onGap: () => this.ledger.onHubGone(),
    })
    const waiting = [...this.daemons]
    const starter = async () => {
      for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
        const [name, daemon] = next
        await daemon.start()
        this.agents.set(name, this.agent(name))
      }
    }
    await Promise.all(Array.from({ length: STARTS_AT_ONCE }, starter))
    const isThere = async () => (await this.team.notReady()).length === 0
    if (await this.until('everybody is there', 120_000, isThere))
      this.say(`${this.daemons.size} daemons are connected`)
  }

  /** All events of a dead hub have been read when its stream has ended. */
  private onStreamBreak(): () => void {
    let ends = 0
    return () => {
      if (this.hub.ends === ends) return
      ends = this.hub.ends
      this.ledger.onHubGone()
    }
  }

  private agent(name: string): Agent {
    return new Agent(name, {
      ...{ door: this.door, ledger: this.ledger, operatorToken: () => this.operatorToken() },
      dice: this.dice(1_000 + this.names.indexOf(name)),
      surface_socket: this.team.paths(name).surface_socket,
      newSession: () => `session-${this.ids.next()}`,
      newBridge: (identity, session_id) => this.newBridge(identity, session_id),
      onBroken: (violation) => this.onBroken(violation),
      onThrown: (error) => this.onThrown(error),
    })
  }

  private newBridge(identity: string, session_id: string): BridgeProcess | null {
    const url = this.hub.match?.[1]
    if (this.options.faults === undefined || url === undefined || !this.bridge_dice.chance(BRIDGED))
      return null
    return new BridgeProcess(identity, session_id, { home: this.directory, url, env: this.place.env })
  }

  private traffic(): Traffic {
    return new Traffic({
      ...{ door: this.door, ledger: this.ledger, operatorToken: () => this.operatorToken() },
      ...{ dice: this.dice(2), personas: this.names, share: () => this.share() },
      times: this.options.faults === undefined ? 1 : BAD_DAYS_TIMES,
      sessionOf: (name) => this.agents.get(name)?.session_id ?? '',
      prompt: (name) => this.agents.get(name)?.prompt(),
      onThrown: (error) => this.onThrown(error),
    })
  }

  private async prepareFaults(traffic: Traffic): Promise<void> {
    const { faults } = this.options
    if (faults === undefined) return
    if (this.place.faulty?.disk === null)
      this.say('LEFT OUT: full and read-only disks, which require the permission to mount')
    this.hostile = new HostileCaller(faults.worker, await hostileTarget(this.directory))
    this.faults = new Faults({
      ...{ dice: this.dice(4), place: this.place, hub: this.hub, daemons: this.daemons, agents: this.agents },
      ...{ traffic, hostile: this.hostile, faults_per_minute: faults.per_minute },
    })
  }

  /** Runs the day, or until a promise is broken. */
  private async passTime(traffic: Traffic): Promise<void> {
    let [before, weighed, told] = [this.began, this.began, this.began]
    const marks = [...MARKS]
    for (;;) {
      await pause(TICK_MS)
      const now = performance.now()
      const passed = now - before
      before = now
      if (passed > ABSENT_MS) for (const agent of this.agents.values()) agent.daemonStoodStill()
      const share = this.share()
      if (share >= 1 || this.broken.length > 0) return
      traffic.pass(passed)
      if (share > WARM_UP) {
        this.chaos.pass(passed, this.faults !== null || share < HUB_STANDS_FROM)
        this.faults?.pass(passed)
      }
      if (marks[0] !== undefined && share >= marks[0].at) {
        const { mark } = marks.shift() as (typeof MARKS)[number]
        this.scales.weigh(mark)
        if (mark === 'watched') this.receipts_before = this.ledger.counts.receipts
      }
      if (now - weighed >= WEIGH_MS) {
        weighed = now
        this.scales.weigh()
      }
      if (now - told >= PROGRESS_MS) {
        told = now
        this.say(this.progress())
      }
    }
  }

  /** Ends all kills; every agent behaves well. */
  private async calm(traffic: Traffic): Promise<void> {
    for (const agent of this.agents.values()) agent.behave()
    await this.until('everything has arrived', CALM_MS_MAX, async () => {
      if (this.broken.length > 0) return true
      const empty = this.ledger.open() === 0 && (await this.team.notReady()).length === 0
      const idle = [...this.agents.values()].every((agent) => agent.idle)
      if (empty && idle && traffic.waiting === 0) return true
      // An agent that is prompted repeatedly never becomes idle.
      if (!empty) for (const agent of this.agents.values()) agent.prompt()
      await pause(500)
      return false
    })
  }

  /** Waits without traffic: no doorbell may be sent, and memory is measured. */
  private async settle(length_ms: number): Promise<void> {
    this.door.hangUp()
    // Their connections would be counted.
    for (const agent of this.agents.values()) agent.killBridge()
    const bells = this.agentCounts().bells
    await pause(Math.min(30_000, Math.max(5_000, length_ms / 20)))
    const more = this.agentCounts().bells - bells
    if (more > 0) this.onBroken(new Violation(FALSE_BELL, `${more} in the calm`))
    this.scales.weigh('end')
  }

  /**
   * Users prompt all day and during recovery, so agents that never receive a doorbell receive every signal in the end,
   * too.
   */
  private checkRung(): void {
    for (const [name, { counts }] of this.agents)
      if (counts.drains >= DRAINS_WITHOUT_BELL_MAX && counts.bells + counts.taken === 0)
        this.onBroken(new Violation('agents are rung', `${name} drained ${counts.drains} times, never rung`))
  }

  /** Memory must be flat without kills; on bad days the hub restarts often and only its peak is limited. */
  private checkScales(): void {
    const { scales, signals_watched, hub_mib_max } = this.figures()
    for (const scale of scales) {
      const violation = this.faults === null ? notFlat(scale, signals_watched) : descriptorsNotFlat(scale)
      if (violation !== null) this.onBroken(violation)
    }
    if (this.faults !== null && hub_mib_max >= MEMORY_MIB_MAX)
      this.onBroken(new Violation('the memory of the hub is bounded', `${Math.round(hub_mib_max)} MiB`))
  }

  private async checkDaemons(): Promise<void> {
    for (const trouble of await this.team.notReady())
      this.onBroken(new Violation('everybody is well again', trouble))
    const isThere = () => Promise.resolve(this.team.missing().length === 0)
    if (this.faults !== null && !(await this.until('what was deleted is made again', 30_000, isThere)))
      this.say(`missing: ${this.team.missing().join(', ')}`)
  }

  // --- small things

  private dice(stream: number): Dice {
    return new Dice(this.options.seed, stream)
  }

  private share(): number {
    return (performance.now() - this.began) / (this.options.minutes * 60_000)
  }

  private operatorToken(): string {
    return fs.readFileSync(path.join(this.directory, 'secrets/operator.token'), 'utf8').trim()
  }

  private refusedStarts(): number {
    return [this.hub, ...this.daemons.values()].reduce((sum, { refused_starts }) => sum + refused_starts, 0)
  }

  private agentCounts(): SoakResult['agents'] {
    return countsOf(this.agents.values())
  }

  private progress(): string {
    const { counts } = this.ledger
    const { bells, taken, turns } = this.agentCounts()
    const { hub, daemons } = restartsOf(this.hub, this.daemons.values())
    return [
      `${clockAt(this.share())}: ${counts.receipts} signals, ${counts.received} handed over`,
      `${counts.duplicates} again, ${counts.released} released, ${this.ledger.open()} open`,
      `${bells + taken} bells, ${turns} turns, hub ${hub} and daemons ${daemons} times anew`,
    ].join('; ')
  }

  /** Returns false and reports it if the condition is not met in time. */
  private async until(what: string, within_ms: number, met: () => Promise<boolean>): Promise<boolean> {
    const end = performance.now() + within_ms
    while (!(await met())) {
      if (performance.now() > end) {
        const open = `${this.ledger.open()} signals are open`
        const agents = [...this.agents.values()].filter(({ idle }) => !idle).map((agent) => agent.describe())
        const ready = await this.hubReadiness()
        const details = [`not within ${within_ms / 1000} s`, open, ready, ...agents]
        const detail = [...details, ...(await this.team.notReady())].join('; ')
        this.onBroken(new Violation(what, detail))
        return false
      }
      await pause(200)
    }
    return true
  }

  /** Returns the hub's own answer, for a failure message. */
  private async hubReadiness(): Promise<string> {
    const url = this.hub.match?.[1]
    if (url === undefined) return 'no hub'
    const abort = AbortSignal.timeout(5_000)
    const text = await fetch(`${url}/ready`, { signal: abort })
      .then((response) => response.text())
      .catch((error: unknown) => String(error))
    return `hub: ${text}`
  }

  private say(line: string): void {
    this.options.say(line)
  }

  private onBroken(violation: Violation): void {
    if (this.broken.length === 0) {
      this.say(`BROKEN  ${violation.message}`)
      this.options.onBroken?.()
    }
    if (this.broken.length < 20) this.broken.push(violation)
  }

  private onThrown(error: unknown): void {
    const detail = error instanceof Error ? (error.stack ?? error.message) : String(error)
    this.onBroken(new Violation('no client gets what it cannot live with', detail))
  }
}
