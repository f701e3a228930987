/** Projects: a root path and the id that stands for it. */
import path from 'node:path'
import { Project } from '../../contracts/registry.ts'
import { TurnbellError } from '../../contracts/errors.ts'
import { timestamp, type Clock } from '../../ports/clock.ts'
import type { Log } from '../../ports/log.ts'
import type { Ids } from '../../ports/random.ts'
import type { RecordStore } from '../../ports/record-store.ts'

const KIND = 'project'

export interface Projects {
  list(): Project[]
  /** By id or by root path. */
  find(project: string): Project | null
  /** The one with this root, made where there is none. Two calls at once make one. */
  at(root: string): Promise<Project>
  remove(project_id: string): Promise<void>
}

export async function openProjects(needs: {
  records: RecordStore
  clock: Clock
  ids: Ids
  log: Log
}): Promise<Projects> {
  const { records, clock, ids } = needs
  const by_root = new Map<string, Project>()
  const underway = new Map<string, Promise<Project>>()
  for (const { id, body } of await records.list(KIND)) {
    const parsed = Project.safeParse(body)
    if (parsed.success) by_root.set(parsed.data.root, parsed.data)
    else needs.log.warn({ kind: KIND, id }, 'a record does not fit its schema and is left out')
  }

  const make = async (root: string): Promise<Project> => {
    const project: Project = { project_id: ids.next(), root, created_at: timestamp(clock) }
    await records.put(KIND, project.project_id, { ...project })
    by_root.set(root, project)
    return project
  }

  return {
    list: () => [...by_root.values()].sort((a, b) => (a.project_id < b.project_id ? -1 : 1)),
    find: (project) =>
      by_root.get(normal(project)) ??
      [...by_root.values()].find(({ project_id }) => project_id === project) ??
      null,
    at(given) {
      if (!path.isAbsolute(given)) {
        throw new TurnbellError('params_invalid', {
          detail: `project: ${JSON.stringify(given)} is not an absolute path.`,
        })
      }
      const root = normal(given)
      const known = by_root.get(root)
      if (known) return Promise.resolve(known)
      let making = underway.get(root)
      if (!making) underway.set(root, (making = make(root).finally(() => underway.delete(root))))
      return making
    },
    async remove(project_id) {
      await records.remove(KIND, project_id)
      for (const [root, project] of by_root) if (project.project_id === project_id) by_root.delete(root)
    },
  }
}

/** One spelling of a path: no trailing slash, no dots. */
function normal(root: string): string {
  const normalised = path.normalize(root)
  return normalised.length > 1 ? normalised.replace(/[/\\]+$/, '') : normalised
}
