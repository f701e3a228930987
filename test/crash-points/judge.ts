/** Whether what was found after a crash is a state that was true, and everything in it that somebody was told of. */
import { isDeepStrictEqual } from 'node:util'
import type { Decision } from '../../src/contracts/decision.ts'
import type { Entry } from '../../src/contracts/entry.ts'
import type { SignalView } from '../../src/contracts/signal.ts'
import { keyName, type Recovered } from './recovery.ts'
import { isEntry, type Observed, type Seen, type SeenSignals } from './observe.ts'
import type { Bounds, Story } from './story.ts'
import { LIMITS } from '../../src/contracts/limits.ts'

const NOTHING: Observed = { signals: {}, records: {} }

export interface Crash {
  bounds: Bounds
  /** Nothing was lost that was written, synced or not. */
  all_written: boolean
  /** It came into a start, which may have taken back what was handed out. */
  starting: boolean
}

/** What is wrong; empty where nothing is. */
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

/** Each for itself is as it was before, or as it was after. */
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

/** Of what looks like the other one only the fields that differ. */
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
    // What the step forgets it forgets for good.
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

/** All signals of one, or none; with a key, too. */
function halfBroadcasts(before: Observed, after: Observed, { found }: Recovered): string[] {
  const whole = new Map<string, SignalView[]>()
  for (const view of Object.values({ ...before.signals, ...after.signals })) {
    if (view.broadcast_id === undefined) continue
    whole.set(view.broadcast_id, [...(whole.get(view.broadcast_id) ?? []), view])
  }
  return [...whole].flatMap(([broadcast_id, views]) => {
    const there = views.filter(({ signal_id }) => signal_id in found)
    const gone = views.filter(({ signal_id }) => !(signal_id in found))
    // Its signals may be forgotten one after the other.
    if (there.length === 0 || gone.every(({ signal_id }) => signal_id in before.signals)) return []
    return [`of the broadcast ${broadcast_id} only ${there.length} of ${views.length} are there`]
  })
}

/** A start changes nothing but what was handed out to sessions of the former run. */
function wronglyTakenBack({ found, started }: Recovered): string[] {
  const names = new Set([...Object.keys(found), ...Object.keys(started)])
  return [...names].flatMap((name) => {
    const [was, is] = [found[name], started[name]]
    if (isDeepStrictEqual(was, is) || isTakenBack(was, is)) return []
    return [`the start made of ${JSON.stringify(was)} ${JSON.stringify(is)}`]
  })
}

/** Those that only a start has changed as they were before it. */
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

/** It waits again, or is dead. */
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
 * Where an entry is, there or in the archive, is for `lostEntries`; what an archived one says, for `changedEntries`. Dan was
 * added to have somebody to send to.
 */
function withoutArchived(records: Seen): Seen {
  const others = Object.entries(records).filter(([name]) => !isArchived(name) && name !== 'home:persona/dan')
  return Object.fromEntries(others)
}

/**
 * Of two decisions that are made at once, one of which takes the other back, a crash may leave the new one alone: see
 * `decisions/service.ts`. It says whose place it takes, so the other one is superseded instead, and that is told.
 * Answers the records with such a one as it was before.
 */
function withoutSuperseded(records: Seen, before: Seen, after: Seen): Seen {
  const rest = { ...records }
  for (const [name, body] of Object.entries(records)) {
    const { id, status, superseded_by } = body as Partial<Decision>
    const other = after[`project:decision/${superseded_by}`] as Partial<Decision> | undefined
    if (status === 'overridden') {
      // The override that the new one's file still asked for was done by the next start, which tells of it anew.
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

/** What is archived stays what it was. */
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
