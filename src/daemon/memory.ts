/**
 * What a daemon remembers over its own restart: which doorbell rang for which session and turn, and what `status` tells of
 * earlier times. Without it a restart would be a reason to ring. It only paces doorbells: without the file nothing is lost.
 */
import * as z from 'zod'
import { Proof } from '../contracts/control.ts'
import { PendingEntry } from '../contracts/frames.ts'
import { DoorbellId, SessionId, SignalId } from '../contracts/ids.ts'
import { jsonIn } from '../contracts/json.ts'
import type { Context } from './context.ts'
import { newHistory, type Bell, type History, type PacerRules } from './history.ts'
import type { SurfaceKind } from '../contracts/ids.ts'

/** Milliseconds: of the Unix epoch in the file, monotonic in the machine. */
const Moment = z.number()
const Count = z.number().int().min(0)

const RememberedBell = z.object({
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

export const DaemonMemory = z.object({
  version: z.literal(1),
  bell: RememberedBell.nullable(),
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
export type DaemonMemory = z.infer<typeof DaemonMemory>

/** Where the memory is kept. Both are called synchronously; `write` may throw. */
export interface MemoryFile {
  read(): string | null
  write(text: string): void
}

export interface MemoryKeeper {
  /** With monotonic times; null where there is none, or none that can be read. */
  read(): DaemonMemory | null
  /**
   * Writes if something has changed since the last successful write. Called before the effects of a step are performed: a
   * bell is remembered first.
   */
  keep(context: Context): void
  /** The file may be gone: writes it with the next call of `keep`. */
  forgetWritten(): void
}

export function createMemoryKeeper(
  file: MemoryFile | null,
  clock: { now(): number; monotonic(): number },
  onFailed: (error: unknown) => void,
): MemoryKeeper {
  const to_wall_ms = () => clock.now() - clock.monotonic()
  let written: Kept | null = null
  let failed = false
  return {
    read() {
      const parsed = DaemonMemory.safeParse(jsonIn(file?.read() ?? null))
      if (!parsed.success) return null
      // A clock that was set back must not make a moment lie ahead.
      const shift = (at: number) => Math.min(at - to_wall_ms(), clock.monotonic())
      return shifted(parsed.data, shift)
    },
    keep(context) {
      if (file === null || (written !== null && isSame(written, context))) return
      const by = to_wall_ms()
      try {
        file.write(`${JSON.stringify(shifted(memoryOf(context), (at) => Math.round(at + by)))}\n`)
        written = keptOf(context)
        failed = false
      } catch (error) {
        // A full disk must not stop the daemon; it is told once.
        if (!failed) onFailed(error)
        failed = true
      }
    },
    forgetWritten: () => (written = null),
  }
}

/** What the memory is made of, by reference: most events change nothing of it. */
type Kept = ReturnType<typeof keptOf>

function keptOf({ history, doorbells_rung, last_drain_at, last_received }: Context) {
  const { bell, unseen, receipts, fresh, rerings, lost_rings, ignored, sessions, named, surface } = history
  const { last_doorbell_id, last_proof, last_rung_at, last_seen_at } = history
  const { last_session_id, turn_seq, interrupted_since } = surface
  return {
    ...{ bell, unseen, receipts, fresh, rerings, lost_rings, ignored, sessions, named },
    ...{ last_doorbell_id, last_proof, last_rung_at, last_seen_at },
    ...{ last_session_id, turn_seq, interrupted_since, doorbells_rung, last_drain_at, last_received },
  }
}

function isSame(kept: Kept, context: Context): boolean {
  const now = keptOf(context)
  return (Object.keys(kept) as (keyof Kept)[]).every((key) => kept[key] === now[key])
}

function memoryOf(context: Context): DaemonMemory {
  const { bell, last_session_id, turn_seq, interrupted_since, unseen, receipts, sessions, named, ...rest } =
    keptOf(context)
  return {
    version: 1,
    ...rest,
    bell: bell && rememberedBell(bell),
    unseen: unseen && { ...unseen },
    ...{ receipts: [...receipts], sessions: [...sessions], named: [...named] },
    surface: { last_session_id, turn_seq, interrupted_since },
  }
}

function rememberedBell({ covered, ...bell }: Bell): NonNullable<DaemonMemory['bell']> {
  const newest = covered.entries.reduce<PendingEntry | null>(
    (best, entry) => (best === null || entry.seq > best.seq ? entry : best),
    null,
  )
  return { ...bell, covered: { newest, total: covered.total } }
}

function shifted(memory: DaemonMemory, shift: (at: number) => number): DaemonMemory {
  const maybe = (at: number | null) => (at === null ? null : shift(at))
  const { bell, surface, last_received } = memory
  return {
    ...memory,
    bell: bell && {
      ...bell,
      ...{ rung_at: shift(bell.rung_at), began_at: maybe(bell.began_at), ended_at: maybe(bell.ended_at) },
    },
    surface: { ...surface, interrupted_since: maybe(surface.interrupted_since) },
    last_received: last_received && { ...last_received, at: shift(last_received.at) },
    ...{ last_rung_at: maybe(memory.last_rung_at), last_seen_at: maybe(memory.last_seen_at) },
    last_drain_at: maybe(memory.last_drain_at),
  }
}

/** The history with which a daemon goes on. Nobody has attached to this one yet, and nothing is known of the queue. */
export function rememberedHistory(
  rules: PacerRules,
  kind: SurfaceKind,
  memory: DaemonMemory | null,
): History {
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
    bell: bell && restoredBell(bell),
    surface: { ...fresh.surface, ...surface },
  }
}

/** A bell that was leaving when the daemon ended may have arrived. */
function restoredBell({ covered, outcome, ...bell }: NonNullable<DaemonMemory['bell']>): Bell {
  const { newest, total } = covered
  return {
    ...bell,
    outcome: outcome === 'leaving' ? 'open' : outcome,
    // Only the newest was kept, so it is known to be incomplete.
    covered: { entries: newest === null ? [] : [newest], total, settled: false },
  }
}
