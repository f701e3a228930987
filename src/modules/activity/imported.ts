/**
 * Sessions that were imported from a client's history, and that the client then continues. From its first event on, such a
 * session belongs to the client's persona. A client that does not know the imported turns numbers its own from 1, so they are
 * shifted.
 */
import type { ActivityEvent } from '../../contracts/activity/event.ts'
import type { ImportedPart, Session, SessionTrack } from './session-track.ts'
import type { ActivityBatch } from './types.ts'

/** Returns true for a session of which the client itself has reported nothing. */
export function isOnlyImported({ track }: Session): boolean {
  return track.imported !== undefined && !track.imported.is_continued
}

/** Returns the session as the batch continues it. */
export function continuedBy(
  session: Session,
  { identity, client, events, numbered_by_hub }: ActivityBatch,
): Session {
  const { row, track } = session
  const is_import = events.length > 0 && events.every(({ source }) => source === 'import')
  if (track.imported === undefined || is_import || !isOnlyImported(session)) return session
  const imported = { ...track.imported, is_continued: events.length > 0 }
  return { row: { ...row, identity, client }, track: { ...track, imported, numbered_by_hub } }
}

/** Returns the events with turns after the imported ones, and the part of the track after them. */
export function withImportedTurns(
  { imported }: SessionTrack,
  events: ActivityEvent[],
  { is_new, numbered_by_hub }: { is_new: boolean; numbered_by_hub: boolean },
): { events: ActivityEvent[]; imported?: ImportedPart } {
  if (imported?.is_continued === true) {
    // The hub itself continues after the last turn.
    if (numbered_by_hub) return { events, imported }
    const shifted = events.map((event) =>
      event.turn_seq === 0 ? event : { ...event, turn_seq: event.turn_seq + imported.turns },
    )
    return { events: shifted, imported }
  }
  const starts = is_new && events.length > 0 && events.every(({ source }) => source === 'import')
  if (imported === undefined && !starts) return { events }
  const turns = events.reduce((most, { turn_seq }) => Math.max(most, turn_seq), imported?.turns ?? 0)
  return { events, imported: { turns, is_continued: false } }
}
