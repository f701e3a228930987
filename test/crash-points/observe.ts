/** What can be seen of a home and a project, in a form in which what was true once can be compared with what is found. */
import fs from 'node:fs'
import path from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import type { Entry } from '../../src/contracts/entry.ts'
import type { SignalView } from '../../src/contracts/signal.ts'
import type { RecordRow, RecordStore } from '../../src/ports/record-store.ts'
import { archivedDaysIn, kindsIn } from '../../src/storage/file/beside-records.ts'
import { openProjectRecords } from '../../src/storage/file/project-records.ts'
import { createFileRecordStore } from '../../src/storage/file/record-store.ts'
import type { Places } from './setting.ts'

/** By its name; what is not in it is not there. */
export type Seen = Record<string, unknown>
/** By signal_id. */
export type SeenSignals = Record<string, SignalView>

export interface Observed {
  signals: SeenSignals
  /** By `home:KIND/ID`, `project:KIND/ID`, and for what is made of them by what it says. */
  records: Seen
}

/** Without the stages that a crash may lose: they are kept with what is written next. */
export function seenSignals(views: readonly SignalView[]): SeenSignals {
  return Object.fromEntries(
    views.map((view) => [
      view.signal_id,
      { ...view, stages: { ...view.stages, pushed_at: null, rung_at: null, seen_at: null } },
    ]),
  )
}

export async function observeRecords({ home, project }: Places): Promise<Seen> {
  const seen: Seen = {}
  const homeRecords = createFileRecordStore({ directory: home.hub_records })
  for (const kind of namesIn(home.hub_records).filter((name) => name !== 'rejected')) {
    note(seen, `home:${kind}`, await homeRecords.list(kind))
  }
  const records = openProjectRecords({ root: project })
  const kinds = await kindsIn(project)
  for (const kind of kinds.filter((one) => one !== 'entity' && one !== 'relation')) {
    note(seen, `project:${kind}`, await records.list(kind))
  }
  await noteGraph(seen, records)
  for (const day of await archivedDaysIn(project))
    note(seen, 'archived', await records.list(`archive/${day}`))
  return withToldConflicts(seen)
}

/**
 * That decisions contradict each other is told once, but under another id where it had to be told after a crash. So it
 * is named after what it tells of, wherever it is spoken of.
 */
function withToldConflicts(seen: Seen): Seen {
  const told = new Map<string, string>()
  for (const [name, body] of Object.entries(seen)) {
    const { id, entry_type, tags = [], relates_to = [] } = body as Partial<Entry>
    if (!isEntry(name) || id === undefined || entry_type !== 'warning' || !tags.includes('conflict')) continue
    const called = `conflict ${relates_to.slice(0, 2).join(' ')}`
    // The same one may be in the archive already, and still be here.
    if (told.has(called) && told.get(called) !== id) throw new Error(`the ${called} is told twice`)
    told.set(called, id)
  }
  let text = JSON.stringify(seen)
  for (const [called, id] of told) text = text.replaceAll(id, called)
  return JSON.parse(text) as Seen
}

export const isEntry = (name: string): boolean => /^(project:entry|archived)\//.test(name)

function note(seen: Seen, kind: string, rows: readonly RecordRow[]): void {
  for (const { id, body } of rows) {
    const name = `${kind}/${id}`
    if (name in seen && !isDeepStrictEqual(seen[name], body)) throw new Error(`${name} is there twice`)
    seen[name] = body
  }
}

/** What a decision says of the graph is said once, but under another id where it had to be said after a crash. */
async function noteGraph(seen: Seen, records: RecordStore): Promise<void> {
  const names = new Map<string, string>()
  for (const { id, body } of await records.list('entity')) {
    const name = `project:entity/${text(body['type'])} ${text(body['name'])}`
    if (name in seen) throw new Error(`${name} is there twice`)
    names.set(id, name)
    seen[name] = body['properties'] ?? null
  }
  for (const { body } of await records.list('relation')) {
    const ends = [body['source'], body['target']].map((id) => names.get(text(id)) ?? `nothing (${text(id)})`)
    const name = `project:relation/${ends[0]} ${text(body['type'])} ${ends[1]}`
    if (name in seen) throw new Error(`${name} is there twice`)
    seen[name] = body['properties'] ?? null
  }
}

const text = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value))

function namesIn(directory: string): string[] {
  return fs.existsSync(directory)
    ? fs.readdirSync(directory).filter((name) => fs.statSync(path.join(directory, name)).isDirectory())
    : []
}
