/**
 * Daemon state that survives a restart: which doorbell rang for which session and turn, and values shown by
 * `status`. Without it a restart would ring again. It only paces doorbells, so nothing is lost if the file is
 * missing.
 */
import * as z from 'zod'
import { Proof } from '../contracts/control.ts'
import { PendingEntry } from '../contracts/frames.ts'
import { DoorbellId, SessionId, SignalId } from '../contracts/ids.ts'
import { parseJsonOrNull } from '../contracts/validation/json.ts'
import { newHistory, type Bell, type History, type PacerRules } from './history.ts'
import type { SurfaceKind } from '../contracts/ids.ts'

/** Milliseconds: since the Unix epoch in the file, monotonic in the machine. */
const Moment = z.number()
const Count = z.number().int().min(0)

const SavedBell = z.object({
  doorbell_id: DoorbellId,
  signal_id: SignalId,
  session_id: SessionId.nullable(),
  turn_seq: z.number(),
  rung_at: Moment,
  covered: z.object({ newest: PendingEntry.nullable(), total: Count }),
  seen: z.boolean(),
  outcome: z.enum(['leaving', 'open', 'held', 'failed']),
  began_at: Moment.nullable(),
  ended_at: Moment.nullable(),
})

export const SavedState = z.object({
  version: z.literal(1),
  bell: SavedBell.nullable(),
  unseen: z.object({ doorbell_id: DoorbellId, session_id: SessionId.nullable() }).nullable(),
  receipts: z.array(DoorbellId),
  fresh: z.boolean(),
  rerings: Count,
  lost_rings: Count,
  ignored: z.boolean(),
  sessions: z.array(SessionId),
  named: z.array(SignalId),
  last_doorbell_id: DoorbellId.nullable(),
  last_proof: Proof.nullable(),
  last_rung_at: Moment.nullable(),
  last_seen_at: Moment.nullable(),
  surface: z.object({
    last_session_id: SessionId.nullable(),
    turn_seq: z.number(),
    interrupted_since: Moment.nullable(),
  }),
  doorbells_rung: Count,
  last_drain_at: Moment.nullable(),
  last_received: z
    .object({ signal_id: SignalId, from: z.string(), intent: z.string(), at: Moment })
    .nullable(),
})
export type SavedState = z.infer<typeof SavedState>

/** The part of the machine's context that is saved. */
export interface SavedContext {
  history: History
  doorbells_rung: number
  last_drain_at: number | null
  last_received: SavedState['last_received']
}

/** Storage for the state. Both methods are called synchronously; `write` may throw. */
export interface StateFile {
  read(): string | null
  write(text: string): void
}

export interface StateKeeper {
  /** Returns the state with monotonic times; null if the file is missing or invalid. */
  read(): SavedState | null
  /**
   * Writes the state if it changed since the last successful write. Called before the effects of a step, so
   * that a doorbell is saved before it is sent.
   */
  save(context: SavedContext): void
  /** Compares the file with the last written text; if they differ, the next call of `save` writes it again. */
  checkWritten(): void
}

export function createStateKeeper(
  file: StateFile | null,
  clock: { now(): number; monotonic(): number },
  onFailed: (error: unknown) => void,
): StateKeeper {
  const to_wall_ms = () => clock.now() - clock.monotonic()
  let written: SavedFields | null = null
  let written_text: string | null = null
  let failed = false
  return {
    read() {
      const parsed = SavedState.safeParse(parseJsonOrNull(file?.read() ?? null))
      if (!parsed.success) return null
      // A clock that was set back must not move a time into the future.
      const shift = (at: number) => Math.min(at - to_wall_ms(), clock.monotonic())
      return shifted(parsed.data, shift)
    },
    save(context) {
      if (file === null || (written !== null && isSame(written, context))) return
      const by = to_wall_ms()
      try {
        const text = `${JSON.stringify(shifted(savedStateOf(context), (at) => Math.round(at + by)))}\n`
        file.write(text)
        written = savedFields(context)
        written_text = text
        failed = false
      } catch (error) {
        // A full disk must not stop the daemon; the failure is reported once.
        if (!failed) onFailed(error)
        failed = true
      }
    },
    checkWritten() {
      if (file?.read() !== written_text) written = null
    },
  }
}

/** The saved fields by reference; most events change none of them. */
type SavedFields = ReturnType<typeof savedFields>

function savedFields({ history, doorbells_rung, last_drain_at, last_received }: SavedContext) {
  const { bell, unseen, receipts, fresh, rerings, lost_rings, ignored, sessions, named, surface } = history
  const { last_doorbell_id, last_proof, last_rung_at, last_seen_at } = history
  const { last_session_id, turn_seq, interrupted_since } = surface
  return {
    bell,
    unseen,
    receipts,
    fresh,
    rerings,
    lost_rings,
    ignored,
    sessions,
    named,
    last_doorbell_id,
    last_proof,
    last_rung_at,
    last_seen_at,
    last_session_id,
    turn_seq,
    interrupted_since,
    doorbells_rung,
    last_drain_at,
    last_received,
  }
}

function isSame(kept: SavedFields, context: SavedContext): boolean {
  const now = savedFields(context)
  return (Object.keys(kept) as (keyof SavedFields)[]).every((key) => kept[key] === now[key])
}

function savedStateOf(context: SavedContext): SavedState {
  const { bell, last_session_id, turn_seq, interrupted_since, unseen, receipts, sessions, named, ...rest } =
    savedFields(context)
  return {
    version: 1,
    ...rest,
    bell: bell && savedBell(bell),
    unseen: unseen && { ...unseen },
    receipts: [...receipts],
    sessions: [...sessions],
    named: [...named],
    surface: { last_session_id, turn_seq, interrupted_since },
  }
}

function savedBell({ covered, ...bell }: Bell): NonNullable<SavedState['bell']> {
  const newest = covered.entries.reduce<PendingEntry | null>(
    (best, entry) => (best === null || entry.seq > best.seq ? entry : best),
    null,
  )
  return { ...bell, covered: { newest, total: covered.total } }
}

function shifted(memory: SavedState, shift: (at: number) => number): SavedState {
  const maybe = (at: number | null) => (at === null ? null : shift(at))
  const { bell, surface, last_received } = memory
  return {
    ...memory,
    bell: bell && {
      ...bell,
      rung_at: shift(bell.rung_at),
      began_at: maybe(bell.began_at),
      ended_at: maybe(bell.ended_at),
    },
    surface: { ...surface, interrupted_since: maybe(surface.interrupted_since) },
    last_received: last_received && { ...last_received, at: shift(last_received.at) },
    last_rung_at: maybe(memory.last_rung_at),
    last_seen_at: maybe(memory.last_seen_at),
    last_drain_at: maybe(memory.last_drain_at),
  }
}

/**
 * Returns the history with which a restarted daemon continues. No surface has attached yet, and the queue is
 * unknown.
 */
export function restoreHistory(rules: PacerRules, kind: SurfaceKind, memory: SavedState | null): History {
  const fresh = newHistory(rules, kind)
  if (memory === null) return fresh
  const {
    bell,
    surface,
    version: _,
    doorbells_rung: __,
    last_drain_at: ___,
    last_received: ____,
    ...rest
  } = memory
  return {
    ...fresh,
    ...rest,
    pending: { ...fresh.pending, settled: false },
    bell: bell && restoreBell(bell),
    surface: { ...fresh.surface, ...surface },
  }
}

/** A doorbell that was being sent when the daemon ended may have arrived. */
function restoreBell({ covered, outcome, ...bell }: NonNullable<SavedState['bell']>): Bell {
  const { newest, total } = covered
  return {
    ...bell,
    outcome: outcome === 'leaving' ? 'open' : outcome,
    // Only the newest entry was saved, so the index is incomplete.
    covered: { entries: newest === null ? [] : [newest], total, settled: false },
  }
}
