/** Checks the rules of doorbells against the frames that each daemon received and sent. */
import type { DaemonStatus, NotifyResult, SurfaceReport } from '../../../src/contracts/control.ts'
import type { Doorbell } from '../../../src/contracts/doorbell.ts'
import type { Json } from '../../../src/contracts/ids.ts'
import { SignalsGone, type ClientFrame, type HubFrame } from '../../../src/contracts/frames.ts'
import { LIMITS } from '../../../src/contracts/limits/limits.ts'
import { Violation } from '../../support/violation.ts'
import { heardNothing, reportsIn, type Heard, type Rung } from './heard.ts'
import { checkNotified } from './notified.ts'
import type { SimDaemon } from '../world/sim-daemon.ts'
import { turnOf } from '../world/surface.ts'

type Pushed = Extract<HubFrame, { type: 'signal.pushed' }>

/** Tolerance for figures that are rounded to seconds. */
const ROUNDED_S = 0.001
/**
 * Time for one peek at the queue, and a second one if new signals arrived in between. Each takes at most this long;
 * otherwise the link is closed.
 */
const OWED_MS = 2 * LIMITS.emit_check_ms + 1_000

export interface BellWorld {
  timeline: { now: number; happened: number }
  wall: { sets: number }
  /** Returns whether the client of a session has a doorbell that has not begun a turn. */
  holdsBell(identity: string, session_id: string | null): boolean
}

export class BellWatch {
  private readonly daemons = new Map<SimDaemon, Heard>()
  /** The newest daemon of each persona. */
  private readonly latest = new Map<string, Heard>()
  /** Personas that had two daemons at once: either may have written the state that the next daemon reads. */
  private readonly rivalled = new Set<string>()
  /**
   * When the turn of a doorbell ended, as reported to any daemon of its persona, because the daemons share one state
   * file.
   */
  private readonly ends = new Map<string, number>()
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
      // A complete list without the signal of a doorbell shows that the signal was drained while the link was down.
      const whole = frame.total === frame.signals.length
      const waits = frame.signals.some(({ signal_id }) => signal_id === heard.last?.signal_id)
      if (!heard.listed && heard.last !== null && whole && !waits) {
        // No notification arrived, but the agent has drained the requested signals.
        if (!heard.stirred && heard.last.drained === 'no') heard.asked_for = 0
        drained(heard.rung.values(), heard.stirred ? 'late' : 'since')
      }
      // Signals missing from the previous list arrived after it, even if no push was received.
      const named = new Set(frame.signals.map(({ signal_id }) => signal_id))
      if (heard.whole && [...named].some((signal_id) => !heard.named.has(signal_id))) heard.news = true
      const came = [...named].some((signal_id) => heard.waiting?.has(signal_id) === false)
      if (came) newsSince(heard)
      const listed_at = this.world.timeline.happened
      const first_priority = frame.signals[0]?.priority ?? 0
      const news = [...named].filter((signal_id) => !heard.known.has(signal_id))
      for (const signal_id of news) heard.known.add(signal_id)
      // A list may contain a signal before its push arrives.
      if (news.length > 0) newsSince(heard)
      if (!heard.listed || news.length > 0) heard.unread_turns = 0
      else if (came) heard.returned = true
      // The list contains the signals that arrived while the link was down.
      if (!heard.listed) newsOfLink(heard, whole && isWithin(named, heard.waited))
      // The signal was drained, but the notification has not arrived yet.
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
    const ended = noteEnd(heard, report, this.world.timeline.now)
    if (ended !== null && !this.ends.has(ended.doorbell_id)) this.ends.set(ended.doorbell_id, ended.at)
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
    if (heard.speaker === shim) heard.speaker = null
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
    // The shim that requested the doorbell may have continued or detached at the moment of the response.
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
      // A rejected doorbell may be repeated after news. An accepted one is waited for, longer each time.
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
    // Any wait for a backlog has ended.
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

  /** Called when a request arrives at the control socket and receives a response. */
  onAsking(daemon: SimDaemon, verb: string): void {
    if (verb !== 'notify_surface') return
    const heard = this.of(daemon)
    heard.asked_for += 1
    heard.asking.push({ last: heard.last && { ...heard.last }, reports: reportsIn(heard) })
  }

  onAsked(daemon: SimDaemon, verb: string, answer: Json, before: DaemonStatus): void {
    const heard = this.of(daemon)
    if (verb === 'notify_surface') checkNotified(daemon, heard, answer as NotifyResult, before)
    // Doorbells of the old window no longer count.
    if (verb === 'resume_surface' && (answer as { accepted: boolean }).accepted)
      Object.assign(heard, { last: null, rung: new Map(), resumed: true, unread_turns: 0, owed: null })
  }

  /** Throws unless the daemon's status matches its observed behaviour. */
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
    // If a shim becomes the surface again after another detached, its turn is unknown until it responds.
    const isSaid = (one: SurfaceReport) => one.turn === turn || (turn === 'unknown' && heard.speaker === null)
    if (attached && !reports.some((one) => isSaid(one) && one.session_id === session_id))
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

  /** Returns the doorbells by session and turn that a restarted daemon still knows. */
  private remembered(daemon: SimDaemon): Partial<Heard> {
    const { identity } = daemon
    const accepted = daemon.status().doorbells_rung
    const before = this.latest.get(identity)
    const hasRival = [...this.daemons.keys()].some((one) => one.identity === identity && one.host.alive)
    if (hasRival) this.rivalled.add(identity)
    // A rival daemon does not know the doorbells of the other.
    const unsure = this.rivalled.has(identity)
    if (!hasRival) this.rivalled.delete(identity)
    if (before === undefined) return { accepted }
    // A doorbell without a response may have arrived.
    const again = (bell: Rung): Rung => {
      const accepted = bell.accepted ?? true
      const heard_end = bell.ended_at ?? this.ends.get(bell.doorbell_id) ?? null
      const news_since = bell.news_since || unsure
      if (bell.clock_sets === this.world.wall.sets)
        return { ...bell, accepted, news_since, ended_at: heard_end }
      // The file contains wall-clock times. The clock was set afterwards, so the doorbell may appear arbitrarily old.
      const ended_at = heard_end === null ? null : -Infinity
      return { ...bell, accepted, news_since, at: -Infinity, ended_at }
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

/** Returns whether a new loud signal has to ring: the surface is idle and no doorbell is outstanding. */
function rouses(heard: Heard, { signal_id, priority }: Pushed): boolean {
  const { up, listed, known, rung, last, resumed, asking } = heard
  const [report, ...others] = reportsIn(heard)
  if (!up || !listed || priority === 0 || known.has(signal_id)) return false
  if (report === undefined || others.length > 0 || report.turn !== 'idle' || report.delivery !== 'push')
    return false
  if (resumed || asking.length > 0 || last?.accepted === null) return false
  // The daemon asks about the outstanding doorbell before it sends another.
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

/** Returns whether the turn of the last doorbell ended and no signal arrived, left or was drained afterwards. */
function isReminder(bell: Rung, turn: number, { returned }: Heard): boolean {
  return bell.accepted === true && bell.drained === 'no' && turn > bell.turn && !bell.news_since && !returned
}

/** Returns the doorbell whose turn this report ends, and the time; null if there is none. */
function noteEnd(
  { rung }: Heard,
  report: SurfaceReport,
  now: number,
): { doorbell_id: string; at: number } | null {
  const bell = rung.get(report.session_id)
  if (bell === undefined || turnOf(report) <= bell.turn) return null
  if (report.turn !== 'idle' && report.take !== true) return null
  bell.ended_at ??= now
  return { doorbell_id: bell.doorbell_id, at: bell.ended_at }
}

function beginAnew({ rung }: Heard): void {
  for (const bell of rung.values()) bell.lost_before = 0
}

/** Records a receipt. An earlier rejection of the same doorbell was wrong. */
function receiptCame(heard: Heard, doorbell_id: string): void {
  if (heard.refused.delete(doorbell_id)) heard.overturned += 1
  for (const rung of heard.rung.values())
    if (rung.doorbell_id === doorbell_id && rung.accepted === false) rung.accepted = true
  heard.seen.add(doorbell_id)
}

/** Marks earlier doorbells as handled, because the agent has drained. */
function drained(bells: Iterable<Rung>, when: 'late' | 'since'): void {
  for (const bell of bells) if (bell.drained !== 'since') bell.drained = when
}

/** Returns whether a list already omits signals whose drain is reported a moment later. */
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

/**
 * `same`: the first list of the link contains only signals that were known to wait. A doorbell that was seen is then
 * only followed by reminders.
 */
function newsOfLink({ rung, seen }: Heard, same: boolean): void {
  for (const bell of rung.values()) bell.news_since ||= !same || !seen.has(bell.doorbell_id)
}

function isWithin(some: ReadonlySet<string>, all: ReadonlySet<string> | null): boolean {
  return all !== null && [...some].every((one) => all.has(one))
}

/** Returns whether the agent acted between the two reports. */
function isOther(one: SurfaceReport, other: SurfaceReport): boolean {
  return one.session_id !== other.session_id || one.turn !== other.turn || one.turn_seq !== other.turn_seq
}
