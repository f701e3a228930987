/** The rules of doorbells, held against what each daemon heard and did. */
import type { DaemonStatus, NotifyResult, SurfaceReport } from '../../src/contracts/control.ts'
import type { Doorbell } from '../../src/contracts/doorbell.ts'
import type { Json } from '../../src/contracts/ids.ts'
import { SignalsGone, type ClientFrame, type HubFrame } from '../../src/contracts/frames.ts'
import { LIMITS } from '../../src/contracts/limits.ts'
import { Violation } from '../support/violation.ts'
import { heardNothing, reportsIn, type Heard, type Rung } from './heard.ts'
import { checkNotified } from './notified.ts'
import type { SimDaemon } from './sim-daemon.ts'
import { turnOf } from './surface.ts'

type Pushed = Extract<HubFrame, { type: 'signal.pushed' }>

/** A figure in seconds is rounded. */
const ROUNDED_S = 0.001
/** A look, and one more where more has come than it asked for: each takes so long at most, else the link is given up. */
const OWED_MS = 2 * LIMITS.emit_check_ms + 1_000

export interface BellWorld {
  timeline: { now: number; happened: number }
  wall: { sets: number }
  /** Whether the client of a session has a bell that no turn has begun with. */
  holdsBell(identity: string, session_id: string | null): boolean
}

export class BellWatch {
  private readonly daemons = new Map<SimDaemon, Heard>()
  /** Of the newest daemon of each persona. */
  private readonly latest = new Map<string, Heard>()
  private readonly world: BellWorld
  readonly counts = { bells: 0, taken: 0 }

  constructor(world: BellWorld) {
    this.world = world
  }

  onLink(daemon: SimDaemon, up: boolean): void {
    const up_at = this.world.timeline.now
    const heard = this.of(daemon)
    heard.waited = heard.waiting ?? heard.waited
    Object.assign(heard, { up, up_at, listed: false, total: 0, listed_at: -1, news: false })
    Object.assign(heard, { named: new Set(), whole: false, waiting: null, stirred: false, owed: null })
    beginAnew(heard)
  }

  onFrame(daemon: SimDaemon, frame: HubFrame): void {
    const heard = this.of(daemon)
    if (leavesOrReturns(frame)) Object.assign(heard, { stirred: true, owed: null })
    if (frame.type === 'pending') {
      // A list that names all and not what was rung for says that it was drained while nobody could tell.
      const whole = frame.total === frame.signals.length
      const waits = frame.signals.some(({ signal_id }) => signal_id === heard.last?.signal_id)
      if (!heard.listed && heard.last !== null && whole && !waits) {
        // Nobody came to say so: the agent has drained what it was asked to.
        if (!heard.stirred && heard.last.drained === 'no') heard.asked_for = 0
        drained(heard.rung.values(), heard.stirred ? 'late' : 'since')
      }
      // What the list before it did not name has come since, whether anybody came to say so or not.
      const named = new Set(frame.signals.map(({ signal_id }) => signal_id))
      if (heard.whole && [...named].some((signal_id) => !heard.named.has(signal_id))) heard.news = true
      const came = [...named].some((signal_id) => heard.waiting?.has(signal_id) === false)
      if (came) newsSince(heard)
      const listed_at = this.world.timeline.happened
      const first_priority = frame.signals[0]?.priority ?? 0
      const news = [...named].filter((signal_id) => !heard.known.has(signal_id))
      for (const signal_id of news) heard.known.add(signal_id)
      // A list may tell of a signal before its push does.
      if (news.length > 0) newsSince(heard)
      if (!heard.listed || news.length > 0) heard.unread_turns = 0
      else if (came) heard.returned = true
      // What came while the link was down is in it.
      if (!heard.listed) newsOfLink(heard, whole && isWithin(named, heard.waited))
      // Drained meanwhile, and nobody was told yet.
      if (heard.owed !== null && !named.has(heard.owed.signal_id)) heard.owed = null
      if (whole) heard.waiting = new Set(named)
      else nowWait(heard, [...named])
      if (frame.total === 0) {
        beginAnew(heard)
        if (frame.id === heard.peek_id) heard.asked_for = 0
      }
      Object.assign(heard, { listed: true, listed_at, total: frame.total, first_priority, named, whole })
    } else if (frame.type === 'signal.pushed' || frame.type === 'signal.released') {
      Object.assign(heard, { news: true, unread_turns: 0 })
      newsSince(heard)
      if (frame.type === 'signal.pushed') {
        const { signal_id } = frame
        const { clock, pauses } = daemon.host
        if (rouses(heard, frame)) heard.owed ??= { signal_id, at: clock.monotonic(), pauses }
        heard.known.add(signal_id)
      }
      nowWait(heard, frame.type === 'signal.pushed' ? [frame.signal_id] : frame.signal_ids)
    } else if (frame.type === 'signal.drained') {
      Object.assign(heard, { news: true, unread_turns: 0, drained_at: daemon.host.clock.monotonic() })
      for (const bell of heard.rung.values()) bell.reminders = 0
      beginAnew(heard)
      const reports = reportsIn(heard)
      const own = reports.length > 0 && reports.every(({ session_id }) => session_id === frame.session_id)
      if (own || frame.pending_count === 0) heard.asked_for = 0
      const when = isLate(heard, frame.signal_ids) ? 'late' : 'since'
      waitNoMore(heard, frame.signal_ids, frame.pending_count)
      const rung = heard.rung.get(frame.session_id)
      if (own || heard.last?.session_id === frame.session_id) drained(heard.rung.values(), when)
      else if (rung !== undefined) drained([rung], when)
    } else {
      const gone = SignalsGone.safeParse(frame)
      if (!gone.success) return
      const { signal_ids, pending_count } = gone.data.data
      waitNoMore(heard, signal_ids, pending_count)
      if (pending_count === 0) heard.asked_for = 0
    }
  }

  onSaid(daemon: SimDaemon, frame: ClientFrame): void {
    if (frame.type === 'pending.peek') this.of(daemon).peek_id = frame.id
  }

  onReport(daemon: SimDaemon, shim: number, report: SurfaceReport): void {
    const heard = this.of(daemon)
    const before = heard.shims.get(shim) ?? heard.pulled
    if (before === null || heard.resumed || isOther(before, report) || report.take === true) {
      heard.resumed = false
      heard.news = true
      heard.owed = null
      heard.idle_since = this.world.timeline.now
      beginAnew(heard)
    }
    if (report.seen_doorbell_id !== undefined) receiptCame(heard, report.seen_doorbell_id)
    if (report.outstanding_doorbell_id !== undefined) heard.owed = null
    noteEnd(heard, report, this.world.timeline.now)
    if (report.delivery === 'pull') {
      heard.pulled = report
      return
    }
    const rung = heard.speaker === shim ? undefined : heard.rung.get(report.session_id)
    if (rung !== undefined) rung.turn_max = Math.max(rung.turn_max, turnOf(report))
    heard.speaker = shim
    heard.shims.set(shim, report)
  }

  onShimGone(daemon: SimDaemon, shim: number): void {
    const heard = this.of(daemon)
    heard.shims.delete(shim)
    heard.owed = null
    beginAnew(heard)
  }

  onBell(daemon: SimDaemon, shim: number, bell: Doorbell, asked: SurfaceReport | null): void {
    const taken = asked !== null
    const heard = this.of(daemon)
    const { now, happened } = this.world.timeline
    const fail = (promise: string, detail: string) => {
      throw new Violation(promise, `${daemon.host.name} at ${now}: ${detail}`)
    }
    this.counts.bells += 1
    if (taken) this.counts.taken += 1
    if (taken) heard.accepted += 1
    const manual = bell.reason === 'manual'
    if (manual && heard.asked_for === 0)
      fail('a bell in a person’s name is one that was asked for', bell.text)
    if (!heard.up || !heard.listed) fail('no bell without the hub’s own list', 'none came over this link')
    if (heard.listed_at !== happened) fail('what waits is looked at right before a bell', 'it was not')
    if (heard.total === 0) fail('no bell with nothing pending', bell.text)
    if (heard.waiting?.has(bell.signal_id) === false) fail('a bell names what waits', bell.signal_id)
    if (bell.pending_count !== heard.total)
      fail('a bell says how many wait', `${bell.pending_count} of ${heard.total}`)
    if (!manual && heard.first_priority === 0) fail('what is quiet rings for nobody', bell.text)
    // Whoever asked for it may have gone on, or away, in the moment in which it was answered.
    const report = asked ?? heard.shims.get(shim) ?? heard.pulled
    if (report === null) return fail('no bell without a surface', bell.text)
    if (!taken && report.turn !== 'idle')
      fail('no bell in the middle of a turn', `the surface said ${report.turn}`)
    const waited_ms = now - Math.min(heard.up_at, heard.idle_since)
    const by_evidence = report.turn === 'idle' && report.delivery === 'push'
    const wait = by_evidence ? LIMITS.reconnect_grace_ms : LIMITS.reconnect_patience_ms
    if (!manual && !heard.news && waited_ms < wait)
      fail('a backlog waits for news, or for its patience', `${waited_ms} ms`)
    if (this.world.holdsBell(daemon.identity, report.session_id))
      fail('no bell while another waits for its turn', bell.text)
    if (taken && report.take !== true) fail('no bell in the middle of a turn', 'nobody asked for it')
    const { session_id } = report
    const turn = turnOf(report)
    const { last, rung } = heard
    if (last === null || last.session_id !== session_id) heard.unread_turns = 0
    else if (!manual && last.accepted === true && turn > last.turn_max && !heard.returned)
      heard.unread_turns += 1
    if (heard.unread_turns > LIMITS.redoorbell_max + 1)
      fail('only so many turns in a row are rung again', String(heard.unread_turns))
    let lost_before = 0
    const own = rung.get(session_id)
    if (own !== undefined && turn === own.turn && own.drained === 'no') {
      // What was refused may be told anew once there is news; what was taken is waited for, each time longer.
      const wait_ms = Math.min(LIMITS.bell_receipt_ms * 2 ** own.lost_before, LIMITS.reconnect_patience_ms)
      const refused = own.accepted === false && (own.news_since || taken || manual)
      if (!refused && now - own.at < wait_ms)
        fail('one bell a turn', `the last one left ${now - own.at} ms ago, and no turn has begun since`)
      lost_before = own.lost_before + 1
    }
    const reminds = own !== undefined && own === last && !manual && isReminder(own, turn, heard)
    if (reminds) {
      if (own.reminders >= LIMITS.redoorbell_max) fail('only so many reminders follow', String(own.reminders))
      const delays = LIMITS.reminders_ms
      const wait_ms = delays[Math.min(own.reminders, delays.length - 1)] ?? 0
      const since = now - (own.ended_at ?? now)
      if (since < wait_ms)
        fail('a turn without a drain is followed by a reminder, and not at once', `${since} ms`)
    }
    // Whatever a backlog waits for is over.
    Object.assign(heard, { asked_for: 0, news: true, returned: false, owed: null })
    heard.last = {
      ...{ doorbell_id: bell.doorbell_id, signal_id: bell.signal_id, at: now },
      clock_sets: this.world.wall.sets,
      ...{ session_id, turn, turn_max: turn },
      ...{ accepted: taken ? true : null, drained: 'no', news_since: false, lost_before },
      ...{ ended_at: null, reminders: reminds ? own.reminders + 1 : 0 },
    }
    rung.set(session_id, heard.last)
  }

  onBellAnswered(daemon: SimDaemon, bell: Doorbell, accepted: boolean): void {
    const heard = this.of(daemon)
    const taken = accepted || heard.seen.has(bell.doorbell_id)
    for (const rung of heard.rung.values()) if (rung.doorbell_id === bell.doorbell_id) rung.accepted = taken
    if (accepted) heard.accepted += 1
    else if (taken) heard.overturned += 1
    else heard.refused.add(bell.doorbell_id)
  }

  /** Somebody asks at the control socket, and is told. */
  onAsking(daemon: SimDaemon, verb: string): void {
    if (verb !== 'notify_surface') return
    const heard = this.of(daemon)
    heard.asked_for += 1
    heard.asking.push({ last: heard.last && { ...heard.last }, reports: reportsIn(heard) })
  }

  onAsked(daemon: SimDaemon, verb: string, answer: Json, before: DaemonStatus): void {
    const heard = this.of(daemon)
    if (verb === 'notify_surface') checkNotified(daemon, heard, answer as NotifyResult, before)
    // What rang in the old window is forgotten.
    if (verb === 'resume_surface' && (answer as { accepted: boolean }).accepted)
      Object.assign(heard, { last: null, rung: new Map(), resumed: true, unread_turns: 0, owed: null })
  }

  /** What the daemon says of itself is what was seen of it. */
  checkStatus(daemon: SimDaemon, status: DaemonStatus): void {
    const heard = this.of(daemon)
    const fail = (detail: string) => {
      throw new Violation('status tells the truth', `${daemon.host.name}: ${detail}`)
    }
    const { accepted, overturned } = heard
    if (status.doorbells_rung < accepted || status.doorbells_rung > accepted + overturned)
      fail(`${status.doorbells_rung} bells, ${accepted} were seen, and ${overturned} perhaps`)
    if (status.connected && !(heard.up && heard.listed)) fail('connected, without a link that brought a list')
    if (status.connected !== (status.state === 'CONNECTED' || status.state === 'EMITTING')) fail(status.state)
    if (!status.surface.attached && status.delivery === 'ok') fail('all is well, without a surface')
    const reports = reportsIn(heard)
    const { attached, turn, session_id } = status.surface
    if (attached && reports.length === 0) fail('a surface that is not there')
    if (attached && !reports.some((one) => one.turn === turn && one.session_id === session_id))
      fail(`a surface that is ${turn}, in ${session_id}`)
    const { drained_at, owed } = heard
    const age_s = status.last_drain_age_s ?? Infinity
    const now = daemon.host.clock.monotonic()
    if (drained_at !== null && age_s > (now - drained_at) / 1000 + ROUNDED_S)
      fail(`a drain ${age_s} s ago, and one was told ${(now - drained_at) / 1000} s ago`)
    if (!status.connected || owed?.pauses !== daemon.host.pauses) heard.owed = null
    else if (now - owed.at > OWED_MS)
      throw new Violation(
        'what comes to an idle agent wakes it',
        `${daemon.host.name}: ${now - owed.at} ms ago`,
      )
  }

  /** What rang for which session and turn a daemon that starts again still knows. */
  private remembered(daemon: SimDaemon): Partial<Heard> {
    const accepted = daemon.status().doorbells_rung
    const before = this.latest.get(daemon.identity)
    if (before === undefined) return { accepted }
    // What no surface has answered yet may have arrived.
    const again = (bell: Rung): Rung => {
      const accepted = bell.accepted ?? true
      if (bell.clock_sets === this.world.wall.sets) return { ...bell, accepted }
      // The file has the times of the wall clock, which was set since: the bell may look as old as can be.
      const ended_at = bell.ended_at === null ? null : -Infinity
      return { ...bell, accepted, at: -Infinity, ended_at }
    }
    const rung = new Map([...before.rung].map(([session_id, bell]) => [session_id, again(bell)]))
    const last = before.last && (rung.get(before.last.session_id) ?? null)
    const waited = before.waiting ?? before.waited
    return { accepted, rung, last, seen: new Set(before.seen), known: new Set(before.known), waited }
  }

  private of(daemon: SimDaemon): Heard {
    const known = this.daemons.get(daemon)
    if (known !== undefined) return known
    const heard = { ...heardNothing(), ...this.remembered(daemon) }
    this.daemons.set(daemon, heard)
    this.latest.set(daemon.identity, heard)
    return heard
  }
}

/** Something loud and new, at an idle surface that no bell is out for: nothing stands against one. */
function rouses(heard: Heard, { signal_id, priority }: Pushed): boolean {
  const { up, listed, known, rung, last, resumed, asking } = heard
  const [report, ...others] = reportsIn(heard)
  if (!up || !listed || priority === 0 || known.has(signal_id)) return false
  if (report === undefined || others.length > 0 || report.turn !== 'idle' || report.delivery !== 'push')
    return false
  if (resumed || asking.length > 0 || last?.accepted === null) return false
  // It is asked about before another leaves.
  if (last !== null && !heard.seen.has(last.doorbell_id)) return false
  if (report.outstanding_doorbell_id !== undefined) return false
  return [...rung.values()].every(
    (bell) =>
      bell.drained === 'since' || (bell.session_id === report.session_id && bell.turn_max < turnOf(report)),
  )
}

function leavesOrReturns(frame: HubFrame): boolean {
  const { type } = frame
  if (type === 'event') return SignalsGone.safeParse(frame).success
  return type === 'signal.drained' || type === 'signal.released'
}

/** The turn that it began is over, and nothing has come, gone or been drained since. */
function isReminder(bell: Rung, turn: number, { returned }: Heard): boolean {
  return bell.accepted === true && bell.drained === 'no' && turn > bell.turn && !bell.news_since && !returned
}

function noteEnd({ rung }: Heard, report: SurfaceReport, now: number): void {
  const bell = rung.get(report.session_id)
  if (bell === undefined || turnOf(report) <= bell.turn) return
  if (report.turn === 'idle' || report.take === true) bell.ended_at ??= now
}

function beginAnew({ rung }: Heard): void {
  for (const bell of rung.values()) bell.lost_before = 0
}

/** Whoever had said that it could not be taken was wrong. */
function receiptCame(heard: Heard, doorbell_id: string): void {
  if (heard.refused.delete(doorbell_id)) heard.overturned += 1
  for (const rung of heard.rung.values())
    if (rung.doorbell_id === doorbell_id && rung.accepted === false) rung.accepted = true
  heard.seen.add(doorbell_id)
}

/** The agent has taken something: what rang before means nothing any more. */
function drained(bells: Iterable<Rung>, when: 'late' | 'since'): void {
  for (const bell of bells) if (bell.drained !== 'since') bell.drained = when
}

/** A list shows what a drain took as gone a moment before the drain is told. */
function isLate({ waiting }: Heard, signal_ids: readonly string[]): boolean {
  return waiting !== null && signal_ids.length > 0 && !signal_ids.some((signal_id) => waiting.has(signal_id))
}

function waitNoMore({ waiting }: Heard, signal_ids: readonly string[], pending_count: number): void {
  if (pending_count === 0) waiting?.clear()
  for (const signal_id of signal_ids) waiting?.delete(signal_id)
}

function nowWait({ waiting }: Heard, signal_ids: readonly string[]): void {
  for (const signal_id of signal_ids) waiting?.add(signal_id)
}

function newsSince({ rung }: Heard): void {
  for (const bell of rung.values()) bell.news_since = true
}

/** `same`: its first list names nothing else than was known to wait. Then a bell that was seen is only reminded of. */
function newsOfLink({ rung, seen }: Heard, same: boolean): void {
  for (const bell of rung.values()) bell.news_since ||= !same || !seen.has(bell.doorbell_id)
}

function isWithin(some: ReadonlySet<string>, all: ReadonlySet<string> | null): boolean {
  return all !== null && [...some].every((one) => all.has(one))
}

/** The agent did something between the two. */
function isOther(one: SurfaceReport, other: SurfaceReport): boolean {
  return one.session_id !== other.session_id || one.turn !== other.turn || one.turn_seq !== other.turn_seq
}
