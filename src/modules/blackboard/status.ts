/** Counts of a project's memory, and warnings for the person. */
import type { MemoryStatus } from '../../contracts/memory/blackboard.ts'
import { LIMITS } from '../../contracts/limits/limits.ts'
import { memoryName, type MemoryLocation } from '../memory/memory-resolver.ts'
import { archivable } from './archive.ts'

export async function statusOf(location: MemoryLocation): Promise<Omit<MemoryStatus, 'degraded'>> {
  const { memory } = location
  const [entries, decisions] = [await memory.entries.list(), await memory.decisions.list()]
  const [entities, relations] = [await memory.entities.list(), await memory.relations.list()]
  const settings = await location.settings()
  const times = [
    ...entries.slice(-1).map(({ timestamp }) => timestamp),
    ...decisions.map(({ timestamp, updated_at = timestamp }) => updated_at),
  ]
  const count = (wanted: string) => decisions.filter(({ status }) => status === wanted).length
  return {
    project: memoryName(location, settings),
    blackboard_entries: entries.length,
    active_decisions: count('active'),
    provisional_decisions: count('provisional'),
    graph_entities: entities.length,
    graph_relations: relations.length,
    last_activity: times.reduce<string | null>((last, at) => (last === null || at > last ? at : last), null),
    needs_archiving:
      archivable(entries, { keep_open: true }).length >=
      settings.config.archive.max_blackboard_entries_before_archive,
    warnings: [
      ...settings.warnings,
      ...(await unreadableFiles(location)),
      ...(await quarantinedFiles(location)),
    ],
  }
}

async function unreadableFiles({ project }: MemoryLocation): Promise<string[]> {
  const unread = (await project?.unreadableFiles()) ?? []
  const listed = unread.slice(0, LIMITS.unreadable_files_max).map(({ file, reason }) => `${file}: ${reason}`)
  if (listed.length === 0) return []
  const more = unread.length > listed.length ? `; and ${unread.length - listed.length} more` : ''
  return [`These files are ignored until they are fixed: ${listed.join('; ')}${more}.`]
}

async function quarantinedFiles({ project }: MemoryLocation): Promise<string[]> {
  const files = (await project?.quarantinedFiles(LIMITS.unreadable_files_max)) ?? []
  if (files.length === 0) return []
  const more = files.length === LIMITS.unreadable_files_max ? ' and maybe more' : ''
  return [
    `Unreadable records were quarantined in ${files.join(', ')}${more}: fix and restore them, or delete them.`,
  ]
}
