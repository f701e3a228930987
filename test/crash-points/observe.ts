/** Reads the visible state of a home and a project, in a form that can be compared with earlier states. */
import fs from 'node:fs'
import path from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import type { Entry } from '../../src/contracts/memory/entry.ts'
import type { SignalView } from '../../src/contracts/signal.ts'
import type { RecordRow, RecordStore } from '../../src/ports/record-store.ts'
import { listArchivedDays, listKinds } from '../../src/storage/file/project/project-files.ts'
import { openProjectRecords } from '../../src/storage/file/project/project-records.ts'
import { createFileRecordStore } from '../../src/storage/file/records/record-store.ts'
import type { Places } from './setting.ts'

/** By name; missing items do not exist. */
export type Seen = Record<string, unknown>
/** By signal_id. */
export type SeenSignals = Record<string, SignalView>

export interface Observed {
  signals: SeenSignals
  /** By `home:KIND/ID` or `project:KIND/ID`; derived records by their contents. */
  records: Seen
}

/** Without the stages that a crash may lose, because they are written with the next change. */
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
  const kinds = await listKinds(project)
  for (const kind of kinds.filter((one) => one !== 'entity' && one !== 'relation')) {
    note(seen, `project:${kind}`, await records.list(kind))
  }
  await noteGraph(seen, records)
  for (const day of await listArchivedDays(project))
    note(seen, 'archived', await records.list(`archive/${day}`))
  return withToldConflicts(seen)
}

/**
 * A conflict between decisions is reported once, but with another id if the report had to be repeated after a crash. It
 * is therefore named after the conflicting decisions, wherever it is mentioned.
 */
function withToldConflicts(seen: Seen): Seen {
  const told = new Map<string, string>()
  for (const [name, body] of Object.entries(seen)) {
    const { id, entry_type, tags = [], relates_to = [] } = body as Partial<Entry>
    if (!isEntry(name) || id === undefined || entry_type !== 'warning' || !tags.includes('conflict')) continue
    const called = `conflict ${relates_to.slice(0, 2).join(' ')}`
    // The same entry may be in the archive and still in the file.
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

/** The graph contents of a decision are added once, but with another id if that had to be repeated after a crash. */
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
