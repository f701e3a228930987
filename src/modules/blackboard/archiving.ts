/**
 * When a blackboard is archived: when somebody asks, after what made its entries old, and when it has grown too long.
 */
import { archivable, archiveEntries, type ArchiveWish } from './archive.ts'
import type { Blackboard, BlackboardNeeds } from './service.ts'
import type { Archived } from '../../contracts/blackboard.ts'
import { authorOf, TURNBELL } from '../memory/author.ts'
import type { Library } from '../memory/library.ts'
import { isOnlySeen, type MemoryPlace } from '../memory/place.ts'

export type Archiving = Pick<Blackboard, 'archive' | 'archiveAfter' | 'sweep'>

/** Nobody is asked, so nothing goes that somebody may wait for. */
const BY_ITSELF = { keep_open: true, summarize: true }

export function createArchiving({
  places,
  tell,
  clock,
  ids,
  log,
}: Omit<BlackboardNeeds, 'decisions' | 'search'>): Archiving {
  /** Those of which it was said already. */
  const failing = new WeakSet<Library>()

  async function sweepOne(place: MemoryPlace): Promise<void> {
    const { max_blackboard_entries_before_archive: limit } = (await place.settings()).config.archive
    const going = archivable(await place.library.entries.all(), { keep_open: true })
    if (going.length < limit) return
    const most = Math.ceil(going.length / 2)
    await archiveIn(place, TURNBELL, { ...BY_ITSELF, most, agent_id: TURNBELL })
  }

  async function archiveIn(place: MemoryPlace, identity: string, wish: ArchiveWish): Promise<Archived> {
    const archived = await archiveEntries(place.library, wish, { clock, ids })
    const { archived_count, archive_file } = archived
    if (archived_count > 0)
      tell({ caller: { identity } }, place, 'memory.archived', { archived_count, archive_file })
    return archived
  }

  return {
    async archive(call, input) {
      const place = await places.toWrite(call)
      return archiveIn(place, call.caller.identity, { ...input, agent_id: authorOf(call) })
    },

    async archiveAfter(call, { trigger, before }, { id, at }) {
      const place = await places.toWriteJustThere(call)
      const { archive } = (await place.settings()).config
      const wanted = {
        commit: archive.auto_archive_on_commit,
        context_switch: archive.auto_archive_on_context_switch,
      }
      if (!wanted[trigger]) return null
      const wish = { before, ...BY_ITSELF, agent_id: authorOf(call), asked: { id, at } }
      return archiveIn(place, call.caller.identity, wish)
    },

    async sweep() {
      for (const place of places.opened()) {
        if (isOnlySeen(place)) continue
        // One that cannot be read keeps no other from being swept.
        try {
          await sweepOne(place)
          failing.delete(place.library)
        } catch (error) {
          if (failing.has(place.library)) continue
          failing.add(place.library)
          log.warn({ err: error, root: place.project?.root }, 'a blackboard cannot be archived')
        }
      }
    },
  }
}
