/**
 * Records whose writes fail as a test requests, and processes that die while they write, with the state that they
 * leave.
 */
import type { ProjectStore } from '../../../src/ports/project-store.ts'
import type { RecordBody, RecordStore } from '../../../src/ports/record-store.ts'
import { memoryProjects } from '../worlds/memory-projects.ts'

/**
 * Returns why a record cannot be written now, or why exclusive work on its kind (`lock:<kind>`) cannot start; null if
 * it can. `dies`: the write never happens, nor does anything after it.
 */
export type Trouble = (kind: string, body: RecordBody) => Error | 'dies' | null

interface Process {
  dead: boolean
  died: () => void
  looks: number
}

export function troubledRecords(
  records: RecordStore,
  trouble: Trouble,
  process_: Process = { dead: false, died: () => undefined, looks: 0 },
): RecordStore {
  const needPut = async (kind: string, body: RecordBody): Promise<void> => {
    const problem = process_.dead ? 'dies' : trouble(kind, body)
    if (problem === null) return
    if (problem !== 'dies') throw problem
    process_.dead = true
    process_.died()
    // The waiting caller died with the process.
    await new Promise<never>(() => undefined)
  }
  return {
    ...records,
    list(kind) {
      process_.looks += 1
      return records.list(kind)
    },
    async put(kind, id, body) {
      await needPut(kind, body)
      return records.put(kind, id, body)
    },
    async exclusive(kind, work) {
      await needPut(`lock:${kind}`, {})
      return records.exclusive(kind, (held) =>
        work({
          ...held,
          async put(id, body) {
            await needPut(kind, body)
            return held.put(id, body)
          },
        }),
      )
    },
  }
}

export interface TroubledProjects {
  openProject: (root: string) => ProjectStore | null
  untroubled: (root: string) => RecordStore
  /** Returns how often records were listed. */
  looks(): number
  /** Resolves when a process has died during a write. */
  died: Promise<'died'>
  /** Returns the current files for another process, without a user. */
  left(): Promise<TroubledProjects>
}

const MEMORY = ['entry', 'decision', 'entity', 'relation']

/** `also` adds further faults to each. */
export function troubledProjects(
  trouble: Trouble,
  also: (project: ProjectStore) => Partial<ProjectStore>,
  projects = memoryProjects(),
): TroubledProjects {
  const opened = new Map<string, ProjectStore>()
  const { promise: died, resolve } = pending<'died'>()
  const process_ = { dead: false, died: () => resolve('died'), looks: 0 }
  const at = (root: string) => projects(root) as ProjectStore
  return {
    died,
    openProject(root) {
      if (opened.has(root) || projects(root) === null) return opened.get(root) ?? null
      const records = troubledRecords(at(root).records, trouble, process_)
      const project = { ...at(root), ...also(at(root)), records }
      opened.set(root, project)
      return project
    },
    untroubled: (root) => at(root).records,
    looks: () => process_.looks,
    async left() {
      const others = memoryProjects()
      for (const root of opened.keys()) await copy(at(root), others(root) as ProjectStore)
      return troubledProjects(trouble, also, others)
    },
  }
}

function pending<T>(): { promise: Promise<T>; resolve: (value: T) => void } {
  let resolve: (value: T) => void = () => undefined
  const promise = new Promise<T>((settle) => (resolve = settle))
  return { promise, resolve }
}

async function copy(from: ProjectStore, to: ProjectStore): Promise<void> {
  const days = await from.archivedDays()
  for (const kind of [...MEMORY, ...days.map((day) => `archive/${day}`)]) {
    for (const { id, body } of await from.records.list(kind)) await to.records.put(kind, id, body)
  }
}
