/**
 * A day of a team in little time: a real hub, a real daemon for each persona, their surfaces and agents, senders, and
 * whatever kills and stops them. Then the calm, in which everything must arrive, and the sums.
 */
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { systemClock } from '../../src/system/clock.ts'
import { resolveHome, type Home } from '../../src/system/home.ts'
import { createIds, systemRandom } from '../../src/system/random.ts'
import { Dice } from '../support/dice.ts'
import { Violation } from '../support/violation.ts'
import { Agent } from './agent.ts'
import { Chaos } from './chaos.ts'
import { clockAt } from './day.ts'
import { Door } from './door.ts'
import { EventStream } from './event-stream.ts'
import { countsOf, diskBelow, restartsOf, type SoakResult } from './figures.ts'
import { Ledger, type Fate } from './ledger.ts'
import { notFlat, Scales } from './scales.ts'
import { Supervised } from './supervised.ts'
import { Team } from './team.ts'
import { Traffic } from './traffic.ts'

export interface SoakOptions {
  minutes: number
  personas: number
  seed: number
  kills_per_minute: number
  /** Below which the home is made. */
  directory?: string
  /** A line for whoever watches. */
  say(line: string): void
  /** `killNow` ends every process at once, for an exit handler; `figures` are those so far. */
  onStarted?(started: { killNow: () => void; figures: () => SoakResult; home: string }): void
  /** The first time. */
  onBroken?(): void
}

/** What of the day passes before anything is killed, and from when on the hub is not. */
const WARM_UP = 0.1
const HUB_STANDS_FROM = 0.75
/** The hub is watched from later on than it stands: one that has just come up again is cold for a while. */
const MARKS = [
  { mark: 'start', at: WARM_UP },
  { mark: 'middle', at: 0.5 },
  { mark: 'watched', at: 0.8 },
] as const
const TICK_MS = 100
const WEIGH_MS = 2_000
const PROGRESS_MS = 30_000
const CALM_MS_MAX = 240_000
/** The driver was not there for so long: what it thinks of times is wrong. */
const ABSENT_MS = 2_000
const STARTS_AT_ONCE = 4
/** A signal is journaled a handful of times, each with its header; the payload once. */
const JOURNAL_BYTES_PER_SIGNAL_MAX = 8_192
/** In a turn that somebody else has begun. */
const DRAINS_WITHOUT_BELL_MAX = 20
const CONFIG = { daemon: { reconnect_patience_ms: 15_000 } }

export async function soak(options: SoakOptions): Promise<SoakResult> {
  const world = new Soak(options)
  options.onStarted?.({
    ...{ killNow: () => world.killNow(), figures: () => world.figures(), home: world.directory },
  })
  try {
    return await world.run()
  } finally {
    await world.close()
  }
}

class Soak {
  private readonly options: SoakOptions
  readonly directory: string
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
  private readonly ids = createIds(systemClock, systemRandom)
  private events: EventStream | null = null
  private fate: Fate | null = null
  private began = 0
  /** Receipts there were when the hub began to be watched. */
  private receipts_before: number | null = null
  private open = true

  constructor(options: SoakOptions) {
    this.options = options
    this.directory = fs.mkdtempSync(path.join(options.directory ?? os.tmpdir(), 'tb-soak-'))
    this.home = resolveHome({}, this.directory)
    this.names = Array.from(
      { length: options.personas },
      (_, index) => `p${String(index + 1).padStart(2, '0')}`,
    )
    this.witnesses = new Set(this.names.slice(0, Math.max(2, Math.round(options.personas / 10))))
    const dice = this.dice(0)
    const supervised = (name: string, args: string[], ready: RegExp) =>
      new Supervised({
        ...{ name, ready, args: [...args, '--home', this.directory] },
        restartPause: () => dice.between(50, 1_500),
        onBroken: (violation) => this.onBroken(violation),
      })
    this.hub = supervised('hub', ['hub', '--port', '0'], /^turnbell hub ready (http\S+)$/)
    this.daemons = new Map(
      this.names.map((name) => [
        name,
        supervised(name, ['daemon', '--persona', name], /^turnbell daemon ready (\S+) (\S+)$/),
      ]),
    )
    this.ledger = new Ledger({
      lives: (identity, session_id) => this.agents.get(identity)?.session_id === session_id,
      onBroken: (violation) => this.onBroken(violation),
    })
    this.door = new Door(() => this.hub.match?.[1] ?? null)
    this.team = new Team({
      ...{ home: this.home, names: this.names, door: this.door },
      operatorToken: () => this.operatorToken(),
    })
    const watched = [...this.witnesses].map((name) => this.daemons.get(name) as Supervised)
    this.scales = new Scales([this.hub, ...watched])
    this.chaos = new Chaos({
      ...{ dice: this.dice(1), hub: this.hub, daemons: this.daemons, agents: this.agents },
      ...{ witnesses: this.witnesses, kills_per_minute: options.kills_per_minute },
    })
  }

  async run(): Promise<SoakResult> {
    const { names } = this
    const personas = Object.fromEntries(names.map((name) => [name, { surface: 'mcp' }]))
    // YAML is a superset of JSON.
    fs.writeFileSync(path.join(this.directory, 'config.yaml'), JSON.stringify({ ...CONFIG, personas }))
    await this.startEverything()
    this.door.hangUp()
    // Before any traffic: what descriptors there are when all are there and nothing happens.
    this.scales.weigh('idle')

    this.began = performance.now()
    const traffic = this.traffic()
    await this.passTime(traffic)
    // What was broken on the way ended the day; nothing more can be said of the rest.
    if (this.broken.length === 0) {
      this.fate = await this.comeToRest(traffic)
      this.checkRung()
      const { scales, signals_watched } = this.figures()
      for (const scale of scales) {
        const violation = notFlat(scale, signals_watched)
        if (violation !== null) this.onBroken(violation)
      }
    }
    const { counts } = this.ledger
    if (counts.duplicates > counts.released)
      this.onBroken(
        new Violation('duplicates <= leases released', `${counts.duplicates}, ${counts.released}`),
      )
    await this.close()
    const figures = this.figures()
    const { journal } = figures.disk
    if (journal > JOURNAL_BYTES_PER_SIGNAL_MAX * (counts.receipts + 1_000))
      this.onBroken(new Violation('the journal is bounded', `${journal} bytes, ${counts.receipts} receipts`))
    return figures
  }

  /** As they are now. */
  figures(): SoakResult {
    const { counts } = this.ledger
    return {
      ...{ home: this.directory, broken: this.broken, signals: counts, fate: this.fate },
      ...{ mishaps: this.chaos.counts, restarts: restartsOf(this.hub, this.daemons.values()) },
      ...{ agents: this.agentCounts(), calls: this.door.counts, scales: this.scales.read() },
      signals_watched: this.receipts_before === null ? 0 : counts.receipts - this.receipts_before,
      disk: diskBelow(this.home),
    }
  }

  killNow(): void {
    for (const process of [this.hub, ...this.daemons.values()]) process.killNow()
  }

  /** Daemons first, then the hub; each must end well when it is asked to. */
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
  }

  // --- on the way

  /** The end of the day, and what became of everything. */
  private async comeToRest(traffic: Traffic): Promise<Fate | null> {
    this.say('the day is over; everything has to arrive')
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
      onEvent: (event) => this.ledger.event(event),
      onBreak: this.onStreamBreak(),
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

  /** All that a dead hub could say was heard when its stream has ended. */
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
      onBroken: (violation) => this.onBroken(violation),
      onThrown: (error) => this.onThrown(error),
    })
  }

  private traffic(): Traffic {
    return new Traffic({
      ...{ door: this.door, ledger: this.ledger, operatorToken: () => this.operatorToken() },
      ...{ dice: this.dice(2), personas: this.names, share: () => this.share() },
      sessionOf: (name) => this.agents.get(name)?.session_id ?? '',
      prompt: (name) => this.agents.get(name)?.prompt(),
      onThrown: (error) => this.onThrown(error),
    })
  }

  /** The day, or what of it passes before a promise is broken. */
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
      if (share > WARM_UP) this.chaos.pass(passed, share < HUB_STANDS_FROM)
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

  /** Nothing falls any more, and every agent behaves. */
  private async calm(traffic: Traffic): Promise<void> {
    for (const agent of this.agents.values()) agent.behave()
    await this.until('everything has arrived', CALM_MS_MAX, async () => {
      if (this.broken.length > 0) return true
      const empty = this.ledger.open() === 0 && (await this.team.notReady()).length === 0
      const idle = [...this.agents.values()].every((agent) => agent.idle)
      if (empty && idle && traffic.waiting === 0) return true
      // Who is asked again and again never rests.
      if (!empty) for (const agent of this.agents.values()) agent.prompt()
      await pause(500)
      return false
    })
  }

  /** Nothing waits and nothing happens: nobody may be rung, and what weighs now weighs too much. */
  private async settle(length_ms: number): Promise<void> {
    this.door.hangUp()
    const bells = this.agentCounts().bells
    await pause(Math.min(30_000, Math.max(5_000, length_ms / 20)))
    const more = this.agentCounts().bells - bells
    if (more > 0) this.onBroken(new Violation('no bell with nothing pending', `${more} in the calm`))
    this.scales.weigh('end')
  }

  /** People prompt all day, and then in the calm: agents that nobody ever rings have everything in the end, too. */
  private checkRung(): void {
    for (const [name, { counts }] of this.agents)
      if (counts.drains >= DRAINS_WITHOUT_BELL_MAX && counts.bells + counts.taken === 0)
        this.onBroken(new Violation('agents are rung', `${name} drained ${counts.drains} times, never rung`))
  }

  private async checkDaemons(): Promise<void> {
    for (const trouble of await this.team.notReady())
      this.onBroken(new Violation('everybody is well again', trouble))
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

  /** False where it did not come to that, which is told. */
  private async until(what: string, within_ms: number, met: () => Promise<boolean>): Promise<boolean> {
    const end = performance.now() + within_ms
    while (!(await met())) {
      if (performance.now() > end) {
        const open = `${this.ledger.open()} signals are open`
        const detail = [`not within ${within_ms / 1000} s`, open, ...(await this.team.notReady())].join('; ')
        this.onBroken(new Violation(what, detail))
        return false
      }
      await pause(200)
    }
    return true
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
