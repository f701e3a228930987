/** When a blackboard is archived: on request, after a commit or the end of work, and when it has too many entries. */
import { archivable, archiveEntries, type ArchiveWish } from './archive.ts'
import type { Blackboard, BlackboardDeps } from './types.ts'
import type { Archived } from '../../contracts/memory/blackboard.ts'
import { authorOf, TURNBELL } from '../memory/author.ts'
import type { ProjectMemory } from '../memory/project-memory.ts'
import { isUnregistered, type MemoryLocation } from '../memory/memory-resolver.ts'

export type Archiving = Pick<Blackboard, 'archive' | 'archiveAfter' | 'sweep'>

/** Automatic archiving keeps open entries, because an agent may still wait for an answer. */
const AUTOMATIC = { keep_open: true, summarize: true }

export function createArchiving({
  resolver,
  publish,
  clock,
  ids,
  log,
}: Omit<BlackboardDeps, 'decisions' | 'search'>): Archiving {
  /** Memories whose last archiving failed and was logged. */
  const failing = new WeakSet<ProjectMemory>()

  async function sweepOne(location: MemoryLocation): Promise<void> {
    const { max_blackboard_entries_before_archive: limit } = (await location.settings()).config.archive
    const candidates = archivable(await location.memory.entries.list(), { keep_open: true })
    if (candidates.length < limit) return
    const count_max = Math.ceil(candidates.length / 2)
    await archiveIn(location, TURNBELL, { ...AUTOMATIC, count_max, agent_id: TURNBELL })
  }

  async function archiveIn(location: MemoryLocation, identity: string, wish: ArchiveWish): Promise<Archived> {
    const archived = await archiveEntries(location.memory, wish, { clock, ids })
    const { archived_count, archive_file } = archived
    if (archived_count > 0)
      publish({ caller: { identity } }, location, 'memory.archived', { archived_count, archive_file })
    return archived
  }

  return {
    async archive(call, input) {
      const location = await resolver.forWrite(call)
      return archiveIn(location, call.caller.identity, { ...input, agent_id: authorOf(call) })
    },

    async archiveAfter(call, { trigger, before }, { id, at }) {
      const location = await resolver.forWriteExactly(call)
      const { archive } = (await location.settings()).config
      const enabled = {
        commit: archive.auto_archive_on_commit,
        context_switch: archive.auto_archive_on_context_switch,
      }
      if (!enabled[trigger]) return null
      const wish = { before, ...AUTOMATIC, agent_id: authorOf(call), origin: { id, at } }
      return archiveIn(location, call.caller.identity, wish)
    },

    async sweep() {
      for (const location of resolver.opened()) {
        if (isUnregistered(location)) continue
        // A project that cannot be read must not prevent the sweep of the others.
        try {
          await sweepOne(location)
          failing.delete(location.memory)
        } catch (error) {
          if (failing.has(location.memory)) continue
          failing.add(location.memory)
          log.warn({ err: error, root: location.project?.root }, 'blackboard not archived')
        }
      }
    },
  }
}
