/** How much a project remembers, and what a person should look at. */
import type { MemoryStatus } from '../../contracts/blackboard.ts'
import { LIMITS } from '../../contracts/limits.ts'
import { nameOf, type MemoryPlace } from '../memory/place.ts'
import { archivable } from './archive.ts'

export async function statusOf(place: MemoryPlace): Promise<Omit<MemoryStatus, 'degraded'>> {
  const { library } = place
  const [entries, decisions] = [await library.entries.all(), await library.decisions.all()]
  const [entities, relations] = [await library.entities.all(), await library.relations.all()]
  const settings = await place.settings()
  const times = [
    ...entries.slice(-1).map(({ timestamp }) => timestamp),
    ...decisions.map(({ timestamp, updated_at = timestamp }) => updated_at),
  ]
  const count = (wanted: string) => decisions.filter(({ status }) => status === wanted).length
  return {
    project: nameOf(place, settings),
    blackboard_entries: entries.length,
    active_decisions: count('active'),
    provisional_decisions: count('provisional'),
    graph_entities: entities.length,
    graph_relations: relations.length,
    last_activity: times.reduce<string | null>((last, at) => (last === null || at > last ? at : last), null),
    needs_archiving:
      archivable(entries, { keep_open: true }).length >=
      settings.config.archive.max_blackboard_entries_before_archive,
    warnings: [...settings.warnings, ...(await unreadOf(place)), ...(await asideOf(place))],
  }
}

async function unreadOf({ project }: MemoryPlace): Promise<string[]> {
  const unread = (await project?.unread()) ?? []
  const told = unread.slice(0, LIMITS.files_told_max).map(({ file, reason }) => `${file}: ${reason}`)
  if (told.length === 0) return []
  const more = unread.length > told.length ? `; and ${unread.length - told.length} more` : ''
  return [`What is left where it is, and not read as long as it is so: ${told.join('; ')}${more}.`]
}

async function asideOf({ project }: MemoryPlace): Promise<string[]> {
  const files = (await project?.setAside(LIMITS.files_told_max)) ?? []
  if (files.length === 0) return []
  const more = files.length === LIMITS.files_told_max ? ' and maybe more' : ''
  return [
    `What could not be read was set aside in ${files.join(', ')}${more}: put it right and back, or delete it.`,
  ]
}
