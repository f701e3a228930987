/** Checks that the state after a crash is a state that once existed and contains every confirmed change. */
import { isDeepStrictEqual } from 'node:util'
import type { Decision } from '../../src/contracts/memory/decision.ts'
import type { Entry } from '../../src/contracts/memory/entry.ts'
import type { SignalView } from '../../src/contracts/signal.ts'
import { keyName, type Recovered } from './recovery.ts'
import { isEntry, type Observed, type Seen, type SeenSignals } from './observe.ts'
import type { Bounds, Story } from './story.ts'
import { LIMITS } from '../../src/contracts/limits/limits.ts'

const NOTHING: Observed = { signals: {}, records: {} }

export interface Crash {
  bounds: Bounds
  /** Whether all written data survived, synced or not. */
  all_written: boolean
  /** Whether the crash happened during a start, which may already have released drained signals. */
  starting: boolean
}

/** Returns the errors; an empty list if there are none. */
export function judge(story: Story, crash: Crash, recovered: Recovered): string[] {
  const { bounds, all_written, starting } = crash
  const { done, begun } = bounds
  const before = story.steps[done]?.truth ?? NOTHING
  const after = begun === null ? before : (story.steps[begun]?.truth ?? NOTHING)
  return [
    ...untrue('signal', before.signals, after.signals, withoutTakenBack(crash, before, after, recovered)),
    ...missingReceipts(story, bounds, before, after, recovered),
    ...halfBroadcasts(before, after, recovered),
    ...wronglyTakenBack(recovered),
    ...untrue(
      'record',
      withoutArchived(before.records),
      withoutArchived(after.records),
      withoutSuperseded(withoutArchived(recovered.records), before.records, after.records),
    ),
    ...lostEntries(before, after, recovered.records),
    ...changedEntries(before, after, recovered.records),
    ...(done >= 0 && recovered.operator_token !== story.operator_token
      ? ['the operator has another token']
      : []),
    ...(all_written && !starting && recovered.next_event_seq <= (story.steps[done]?.event_seq ?? 0)
      ? [`an event has the seq ${recovered.next_event_seq}, which was shown for another one`]
      : []),
  ]
}

/** Each item must equal its earlier or its later state. */
function untrue(what: string, before: Seen, after: Seen, found: Seen): string[] {
  const names = new Set([...Object.keys(before), ...Object.keys(after), ...Object.keys(found)])
  return [...names].flatMap((name) => {
    const is = found[name]
    if (isDeepStrictEqual(is, before[name]) || isDeepStrictEqual(is, after[name])) return []
    return [
      `the ${what} ${name} is ${said(is, after[name])}; before ${said(before[name], is)}; then ${said(after[name], is)}`,
    ]
  })
}

/** Formats an object; for a similar other object only the fields that differ. */
function said(one: unknown, other: unknown): string {
  if (one === undefined) return 'not there'
  if (!isObject(one) || !isObject(other)) return JSON.stringify(one)
  const differing = Object.entries(one).filter(([name, value]) => !isDeepStrictEqual(value, other[name]))
  const missing = Object.keys(other).filter((name) => !(name in one))
  return [JSON.stringify(Object.fromEntries(differing)), ...missing.map((name) => `no ${name}`)].join(', ')
}

const isObject = (one: unknown): one is Seen => typeof one === 'object' && one !== null && !Array.isArray(one)

function missingReceipts(
  { receipts }: Story,
  { answered, now_ms }: Bounds,
  before: Observed,
  after: Observed,
  { found, recalled, next_seq }: Recovered,
): string[] {
  return receipts.flatMap(({ name, signal_id, seq, key }) => {
    if (!answered.has(name)) return []
    const wrong: string[] = []
    if (next_seq <= seq) wrong.push(`the seq ${next_seq} was given out again, after ${signal_id} with ${seq}`)
    const view = found[signal_id]
    // A signal forgotten by the step stays forgotten.
    if (
      view === undefined &&
      (signal_id in after.signals || (!(signal_id in before.signals) && next_seq <= seq))
    )
      wrong.push(`the signal ${signal_id} had a receipt, and is gone`)
    const stands =
      view !== undefined && now_ms - Date.parse(view.stages.created_at) < LIMITS.idempotency_window_ms
    if (key !== undefined && stands && recalled[keyName(key)] !== signal_id)
      wrong.push(`the key of ${signal_id} is answered by ${recalled[keyName(key)] ?? 'nothing'}`)
    return wrong
  })
}

/** All signals of a broadcast must be present, or none; also for one with a key. */
function halfBroadcasts(before: Observed, after: Observed, { found }: Recovered): string[] {
  const whole = new Map<string, SignalView[]>()
  for (const view of Object.values({ ...before.signals, ...after.signals })) {
    if (view.broadcast_id === undefined) continue
    whole.set(view.broadcast_id, [...(whole.get(view.broadcast_id) ?? []), view])
  }
  return [...whole].flatMap(([broadcast_id, views]) => {
    const there = views.filter(({ signal_id }) => signal_id in found)
    const gone = views.filter(({ signal_id }) => !(signal_id in found))
    // Signals of one broadcast may be forgotten one by one.
    if (there.length === 0 || gone.every(({ signal_id }) => signal_id in before.signals)) return []
    return [`of the broadcast ${broadcast_id} only ${there.length} of ${views.length} are there`]
  })
}

/** A start may only change signals drained by sessions of the previous run. */
function wronglyTakenBack({ found, started }: Recovered): string[] {
  const names = new Set([...Object.keys(found), ...Object.keys(started)])
  return [...names].flatMap((name) => {
    const [was, is] = [found[name], started[name]]
    if (isDeepStrictEqual(was, is) || isTakenBack(was, is)) return []
    return [`the start made of ${JSON.stringify(was)} ${JSON.stringify(is)}`]
  })
}

/** Restores the state before the start for signals that only the start has changed. */
function withoutTakenBack(
  { starting }: Crash,
  before: Observed,
  after: Observed,
  { found }: Recovered,
): SeenSignals {
  if (!starting) return found
  return Object.fromEntries(
    Object.entries(found).map(([name, is]) => {
      const was = [before.signals[name], after.signals[name]].find((one) => isTakenBack(one, is))
      return [name, was ?? is]
    }),
  )
}

/** Returns whether the signal waits again or is dead. */
function isTakenBack(was: SignalView | undefined, is: SignalView | undefined): boolean {
  if (was?.leased_to === undefined || is === undefined) return false
  const { status: _, leased_to: __, drain_id: ___, ...former } = was
  const { status, ...rest } = is
  return ['pending', 'dead'].includes(status) && isDeepStrictEqual(withoutDrain(rest), withoutDrain(former))
}

const withoutDrain = (view: Pick<SignalView, 'stages'>) => ({
  ...view,
  stages: { ...view.stages, drained_at: null },
})

const isArchived = (name: string) => name.startsWith('archived/')

/**
 * `lostEntries` checks whether an entry is in the file or in the archive, and `changedEntries` the text of archived
 * ones. Dan is only a receiver for signals.
 */
function withoutArchived(records: Seen): Seen {
  const others = Object.entries(records).filter(([name]) => !isArchived(name) && name !== 'home:persona/dan')
  return Object.fromEntries(others)
}

/**
 * When two decisions are made at once and one overrides the other, a crash may leave only the new one: see
 * `decisions/service.ts`. The new one names its predecessor, so the predecessor is superseded instead, which is
 * reported. Returns the records with such a predecessor in its earlier state.
 */
function withoutSuperseded(records: Seen, before: Seen, after: Seen): Seen {
  const rest = { ...records }
  for (const [name, body] of Object.entries(records)) {
    const { id, status, superseded_by } = body as Partial<Decision>
    const other = after[`project:decision/${superseded_by}`] as Partial<Decision> | undefined
    if (status === 'overridden') {
      // The override requested in the new decision's file was executed by the next start, which reports it again.
      for (const [entry, { tags = [], relates_to = [] }] of entriesOf(records)) {
        if (!(entry in after) && tags.includes('override') && relates_to[0] === id) delete rest[entry]
      }
    }
    if (status !== 'superseded' || other?.supersedes !== id || !(name in after)) continue
    if (`project:decision/${superseded_by}` in before) continue
    rest[name] = before[name]
    for (const [entry, { entry_type, relates_to = [] }] of entriesOf(records)) {
      if (!(entry in after) && entry_type === 'answer' && relates_to[0] === id) delete rest[entry]
    }
  }
  return rest
}

function entriesOf(records: Seen): [string, Partial<Entry>][] {
  return Object.entries(records).filter(([name]) => isEntry(name)) as [string, Partial<Entry>][]
}

const archived = (name: string) => name.replace('project:entry/', 'archived/')

/** An archived entry never changes. */
function changedEntries(before: Observed, after: Observed, found: Seen): string[] {
  const once: Seen = {}
  for (const [name, body] of [...Object.entries(before.records), ...Object.entries(after.records)])
    if (isEntry(name)) once[archived(name)] = body
  return Object.keys(found)
    .filter((name) => isArchived(name) && !isDeepStrictEqual(found[name], once[name]))
    .map(
      (name) =>
        `the entry ${name} is ${said(found[name], once[name])}; then ${said(once[name], found[name])}`,
    )
}

function lostEntries(before: Observed, after: Observed, found: Seen): string[] {
  return Object.keys(before.records).flatMap((name) => {
    if (!isEntry(name)) return []
    const gone = !(name in found) && !(archived(name) in found)
    return gone && (name in after.records || archived(name) in after.records)
      ? [`the entry ${name} is gone`]
      : []
  })
}
