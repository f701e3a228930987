/**
 * The entries of journal lines. One entry is one change; applying all entries of a journal in order reproduces
 * the state of the store. Entries record outcomes, not rules: a line names the signals it changed, so that a
 * later version with other limits reads the same history.
 *
 * Members have the order given here. A signal's line starts with the header and ends with the payload, so
 * that recovery reads only the short header and leaves bodies on disk.
 */
import type { DrainId, Identity, Json, Seq, SessionId, SignalId } from '../../../contracts/ids.ts'
import { isDeeper } from '../../../contracts/validation/json.ts'
import { LIMITS } from '../../../contracts/limits/limits.ts'
import type { Signal } from '../../../contracts/signal.ts'
import type { Stage } from '../../../ports/signal-store.ts'
import { openText } from './sealed-line.ts'
import { packUlid, type UlidWords } from './ulid-words.ts'

export const FORMAT_VERSION = 1
/** Upper bound of seqs, within the exact integers of a number. Reaching it takes 140 years at a million signals a second. */
export const SEQ_MAX = 2 ** 52

/** The first line of every segment. */
export interface SegmentEntry {
  kind: 'segment'
  version: number
  segment: number
  /** First of the segments that this file replaces; compaction joins `first` to `segment`. */
  first: number
  /** Number of rewrites of this file. */
  revision: number
  /** Fencing epoch of the writer. */
  epoch: number
  /** Length of the previous segment when this one was begun. Later bytes there were written by a former owner. */
  follows: { segment: number; bytes: number } | null
  /** Highest seq and id assigned before this segment, so that neither is reused after signals are forgotten. */
  last_seq: Seq
  last_signal_id: SignalId | null
}

/** The first line of every commit: everything before `at` was synced before this line was written. */
export interface CommitEntry {
  kind: 'commit'
  at: number
}

/** The last line after a clean close: the segment is complete. */
export interface ClosedEntry {
  kind: 'closed'
  at: number
}

export interface LeaseEntry {
  kind: 'lease'
  drain_id: DrainId
  session_id: SessionId
  identity: Identity
  at: string
  signal_ids: SignalId[]
}

export interface ConfirmEntry {
  kind: 'confirm'
  drain_id: DrainId
  at: string
  signal_ids: SignalId[]
}

export interface ReleaseEntry {
  kind: 'release'
  pending: SignalId[]
  dead: SignalId[]
  /** Set if the agent released them: they left the lease, and a later confirm does not include them. */
  for_good?: true
}

export interface CompleteEntry {
  kind: 'complete'
  at: string
  signal_ids: SignalId[]
  result?: Json
}

export interface ExpireEntry {
  kind: 'expire'
  at: string
  signal_ids: SignalId[]
}

export interface CancelEntry {
  kind: 'cancel'
  at: string
  signal_ids: SignalId[]
}

export interface ReplayEntry {
  kind: 'replay'
  expires_at: string
  signal_ids: SignalId[]
}

export interface MarkEntry {
  kind: 'mark'
  stage: Stage
  at: string
  signal_ids: SignalId[]
}

/** A later session was notified that these signals are in progress. */
export interface ToldEntry {
  kind: 'told'
  signal_ids: SignalId[]
}

/** Forgets finished signals; see `SignalIndex.forget`. */
export interface ForgetEntry {
  kind: 'forget'
  finished_before: string
  created_before: string
}

export type ChangeEntry =
  | LeaseEntry
  | ConfirmEntry
  | ReleaseEntry
  | CompleteEntry
  | ExpireEntry
  | CancelEntry
  | ReplayEntry
  | MarkEntry
  | ToldEntry
  | ForgetEntry

export type Entry = SegmentEntry | CommitEntry | ClosedEntry | ChangeEntry

/** Header fields of a signal that the index stores. One object is reused for many lines. */
export interface SignalHead {
  id: UlidWords
  seq: Seq
  created_ms: number
  expires_ms: number
  priority: number
  to: Identity
  from: Identity
  intent: string
  to_session: SessionId | undefined
  in_reply_to: SignalId | undefined
  idempotency_key: string | undefined
  /** Number of lines of the same all-or-nothing group that follow. */
  left: number
}

export function emptyHead(): SignalHead {
  return {
    id: new Uint32Array(4),
    seq: 0,
    created_ms: 0,
    expires_ms: 0,
    priority: 0,
    to: '',
    from: '',
    intent: '',
    to_session: undefined,
    in_reply_to: undefined,
    idempotency_key: undefined,
    left: 0,
  }
}

export const PAYLOAD_MEMBER = ',"payload":'

/** Returns the unsealed text of a signal's line. `left` is the number of lines of the same all-or-nothing group that follow. */
export function signalText(signal: Signal, seq: Seq, left: number): string {
  let text =
    `{"kind":"signal","seq":${seq},"signal_id":"${signal.signal_id}"` +
    `,"created_at":"${signal.created_at}","expires_at":"${signal.expires_at}","priority":${signal.priority}` +
    `,"to":${quoted(signal.to)},"from":${quoted(signal.from)},"intent":${quoted(signal.intent)}` +
    `,"origin":"${signal.origin}"`
  if (signal.topic !== undefined) text += `,"topic":${quoted(signal.topic)}`
  if (signal.reply_to !== undefined) text += `,"reply_to":${quoted(signal.reply_to)}`
  if (signal.in_reply_to !== undefined) text += `,"in_reply_to":"${signal.in_reply_to}"`
  if (signal.to_session !== undefined) text += `,"to_session":${quoted(signal.to_session)}`
  if (signal.broadcast_id !== undefined) text += `,"broadcast_id":"${signal.broadcast_id}"`
  if (signal.idempotency_key !== undefined) text += `,"idempotency_key":${quoted(signal.idempotency_key)}`
  if (signal.request_digest !== undefined) text += `,"request_digest":"${signal.request_digest}"`
  if (left > 0) text += `,"left":${left}`
  return text + PAYLOAD_MEMBER + JSON.stringify(signal.payload ?? null)
}

/** Printable ASCII without quote and backslash, which JSON does not escape. */
const PLAIN = /^[ !#-[\]-~]*$/

const quoted = (text: string): string => (PLAIN.test(text) ? `"${text}"` : JSON.stringify(text))

/** Caches the last parsed time, because signals sent within one millisecond have equal times. */
class LastTime {
  private text = ''
  private ms = Number.NaN

  parse(text: string): number {
    if (text !== this.text) {
      this.text = text
      this.ms = Date.parse(text)
    }
    return this.ms
  }
}
const created = new LastTime()
const expires = new LastTime()

/** Fills `head` from a signal to be written. Throws for an invalid id or time. */
export function fillHead(head: SignalHead, signal: Signal, seq: Seq): void {
  if (!packUlid(signal.signal_id, head.id)) throw new Error(`signal_id ${signal.signal_id} is not a ULID`)
  head.seq = seq
  head.created_ms = created.parse(signal.created_at)
  head.expires_ms = expires.parse(signal.expires_at)
  head.priority = signal.priority
  head.to = signal.to
  head.from = signal.from
  head.intent = signal.intent
  head.to_session = signal.to_session
  head.in_reply_to = signal.in_reply_to
  head.idempotency_key = signal.idempotency_key
  head.left = 0
  if (Number.isNaN(head.created_ms) || Number.isNaN(head.expires_ms)) {
    throw new Error(`signal ${signal.signal_id} has invalid times`)
  }
}

/** Parses a whole line. Throws for invalid JSON and for JSON nested deeper than the hub accepts, which could not be sent. */
export function wholeLine<T>(line: string): T & { [name: string]: unknown } {
  const whole: unknown = JSON.parse(line)
  if (isDeeper(whole, LIMITS.journal_depth_max)) throw new RangeError('it is nested too deeply')
  return whole as T & { [name: string]: unknown }
}

/** Returns the signal in a line, as it was accepted. */
export function signalOf(line: string): Signal {
  const { kind: _, seq: __, left: ___, crc: ____, ...signal } = wholeLine<Signal>(line)
  return signal
}

export function entryText(entry: Entry): string {
  return openText(entry)
}

/** Parses any line except a signal's. Throws if it is not a valid entry of this version. */
export function parseEntry(line: string): Entry {
  const { crc: _, ...entry } = JSON.parse(line) as Entry & { crc: string }
  if (!KINDS.has(entry.kind)) throw new Error(`unknown kind ${JSON.stringify(entry.kind)}`)
  // The head of a later format may have other members; `checkVersion` reports it.
  const is_foreign =
    entry.kind === 'segment' && Number.isSafeInteger(entry.version) && entry.version !== FORMAT_VERSION
  for (const [name, holds] of is_foreign ? [] : (NEEDED[entry.kind] ?? [])) {
    if (!holds((entry as unknown as Record<string, unknown>)[name]))
      throw new Error(`${entry.kind} without ${name}`)
  }
  return entry
}

type Needed = readonly [name: string, holds: (value: unknown) => boolean]

const text = (name: string): Needed => [name, (value) => typeof value === 'string']
const time = (name: string): Needed => [name, (value) => !Number.isNaN(Date.parse(value as string))]
const ids = (name: string): Needed => [
  name,
  (value) => Array.isArray(value) && value.every((id) => typeof id === 'string'),
]

const isCount = (value: unknown) => Number.isSafeInteger(value) && (value as number) >= 0
const count = (name: string): Needed => [name, isCount]
/** Returns whether the value is the end of a segment, after at least its first line. */
const end = (value: unknown): boolean =>
  typeof value === 'object' &&
  value !== null &&
  'segment' in value &&
  'bytes' in value &&
  isCount(value.segment) &&
  isCount(value.bytes) &&
  (value.bytes as number) > 0

/** Members without which an entry cannot be applied. */
const NEEDED: { [K in Entry['kind']]?: readonly Needed[] } = {
  segment: [
    ...['version', 'segment', 'first', 'revision', 'epoch'].map(count),
    ['last_seq', (value) => isCount(value) && (value as number) < SEQ_MAX],
    ['follows', (value) => value === null || end(value)],
    ['last_signal_id', (value) => value === null || typeof value === 'string'],
  ],
  lease: [text('drain_id'), text('session_id'), text('identity'), time('at'), ids('signal_ids')],
  confirm: [text('drain_id'), time('at'), ids('signal_ids')],
  release: [ids('pending'), ids('dead')],
  complete: [time('at'), ids('signal_ids')],
  expire: [time('at'), ids('signal_ids')],
  cancel: [time('at'), ids('signal_ids')],
  replay: [time('expires_at'), ids('signal_ids')],
  mark: [text('stage'), time('at'), ids('signal_ids')],
  told: [ids('signal_ids')],
  forget: [time('finished_before'), time('created_before')],
}

const KINDS = new Set<unknown>([
  'segment',
  'commit',
  'closed',
  'lease',
  'confirm',
  'release',
  'complete',
  'expire',
  'cancel',
  'replay',
  'mark',
  'told',
  'forget',
] satisfies Entry['kind'][])
