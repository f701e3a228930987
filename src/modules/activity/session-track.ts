/** What the module stores with a session: its state, the numbers of its events, and the waves of its subagents. */
import type { EndStatus } from '../../contracts/activity/event.ts'
import type { Json } from '../../contracts/ids.ts'
import { LIMITS } from '../../contracts/limits/limits.ts'
import type { SessionRow } from '../../ports/activity-store.ts'
import type { Range } from './received.ts'
import type { StateTrack } from './state-track.ts'

export interface SessionTrack {
  version: 1
  /** Null before the first event. */
  state: StateTrack | null
  received: Range[]
  /** The numbers are those of the hub: all events came by hooks, and no shim has reported the session. */
  numbered_by_hub: boolean
  /** The client's id of the newest turn. */
  request_id: string | null
  /** Number of received events, of those that came through the spool, and of lost ones that were reported. */
  events: number
  spooled: number
  dropped: number
  /** Path of the project. */
  project: string | null
  /** Turn whose prompt is stored; a further prompt of the turn was typed while it ran. */
  prompted_turn: number | null
  /** The newest wave of each request, oldest first. */
  waves: Wave[]
  /** Known subagents with their waves, oldest first. */
  subtasks: KnownSubtask[]
  /** Running calls whose content must not be stored. */
  denied_calls: string[]
  /** Absent if nothing of the session was imported. */
  imported?: ImportedPart
}

/** What was imported of a session. */
export interface ImportedPart {
  /** Number of the last imported turn. */
  turns: number
  /** The client has continued the session. */
  is_continued: boolean
}

export interface Wave {
  turn: number
  wave: number
  /** The worst end of its subagents. */
  status: EndStatus
}
export interface KnownSubtask {
  id: string
  turn: number
  wave: number
  running: boolean
  /** Number of the event that ended it last; 0 before. */
  ended_seq: number
}

/** A session as it is stored, with its track. */
export interface Session {
  row: Omit<SessionRow, 'track'>
  track: SessionTrack
}

export function emptySessionTrack(): SessionTrack {
  return {
    version: 1,
    state: null,
    received: [],
    numbered_by_hub: false,
    request_id: null,
    events: 0,
    spooled: 0,
    dropped: 0,
    project: null,
    prompted_turn: null,
    waves: [],
    subtasks: [],
    denied_calls: [],
  }
}

export const toRow = ({ row, track }: Session): SessionRow => ({ ...row, track: track as unknown as Json })

export function fromRow({ track, ...row }: SessionRow): Session {
  return { row, track: readTrack(track) }
}

/** Only this module writes tracks, so the version determines the form. */
export function readTrack(track: Json): SessionTrack {
  const stored = track as unknown as SessionTrack | null
  return stored?.version === 1 ? stored : emptySessionTrack()
}

/** Returns the track with a subagent that begins with event `seq`, and the subagent. */
export function withSubtask(
  track: SessionTrack,
  id: string,
  turn: number,
  seq: number,
): { track: SessionTrack; subtask: KnownSubtask } {
  const known = track.subtasks.find((one) => one.id === id)
  if (known !== undefined) {
    if (known.running || seq < known.ended_seq) return { track, subtask: known }
    // A subagent may be continued. Its work remains in the wave in which it began.
    const subtask = { ...known, running: true }
    return {
      track: { ...track, subtasks: track.subtasks.with(track.subtasks.indexOf(known), subtask) },
      subtask,
    }
  }
  const current = track.waves.find((one) => one.turn === turn)
  const runs = track.subtasks.some((one) => one.running && one.turn === turn && one.wave === current?.wave)
  const wave: Wave =
    current !== undefined && runs
      ? current
      : { turn, wave: (current?.wave ?? 0) + 1, status: 'completed' as const }
  const subtask: KnownSubtask = { id, turn, wave: wave.wave, running: true, ended_seq: 0 }
  const waves = [...track.waves.filter((one) => one !== current), wave]
  return {
    track: { ...track, waves: bounded(waves), subtasks: bounded([...track.subtasks, subtask]) },
    subtask,
  }
}

/** Returns the track after the end of a known subagent, and the wave if it ended, too. */
export function withoutSubtask(
  track: SessionTrack,
  id: string,
  status: EndStatus,
  seq: number,
): { track: SessionTrack; ended: Wave | null } {
  const known = track.subtasks.find((one) => one.id === id)
  if (known === undefined) return { track, ended: null }
  const subtask = { ...known, running: false, ended_seq: Math.max(known.ended_seq, seq) }
  const subtasks = track.subtasks.with(track.subtasks.indexOf(known), subtask)
  const wave = track.waves.find((one) => one.turn === known.turn && one.wave === known.wave)
  if (wave === undefined) return { track: { ...track, subtasks }, ended: null }
  const worst = { ...wave, status: SEVERITY[status] > SEVERITY[wave.status] ? status : wave.status }
  const runs = subtasks.some((one) => one.running && one.turn === wave.turn && one.wave === wave.wave)
  const waves = track.waves.with(track.waves.indexOf(wave), worst)
  return { track: { ...track, waves, subtasks }, ended: runs ? null : worst }
}

const SEVERITY: Readonly<Record<EndStatus, number>> = { completed: 0, interrupted: 1, failed: 2 }

function bounded<Entry>(list: readonly Entry[]): Entry[] {
  return list.slice(-LIMITS.activity_tracked_max)
}
