/** Finds the id of a project by its path, and assigns one to a new project. */
import type { ActivityStore, ProjectRow } from '../../ports/activity-store.ts'
import type { Timestamp } from '../../contracts/ids.ts'

export interface ProjectIds {
  /** Returns the same id for the same path to all sessions, also before the project is stored. */
  find(path: string): Promise<string>
  /** Call it after a project was deleted. */
  forget(path: string): void
}

const CACHED_MAX = 1_000

export function createProjectIds(store: Pick<ActivityStore, 'project'>, ids: { next(): string }): ProjectIds {
  const known = new Map<string, Promise<string>>()
  return {
    find(path) {
      const cached = known.get(path)
      if (cached !== undefined) return cached
      const found = store.project({ path }).then((project) => project?.project_id ?? ids.next())
      known.set(path, found)
      // A failed read is repeated at the next event.
      found.catch(() => known.delete(path))
      for (const oldest of known.keys()) {
        if (known.size <= CACHED_MAX) break
        known.delete(oldest)
      }
      return found
    },
    forget: (path) => void known.delete(path),
  }
}

/** Returns the row of a project, named by the last part of its path. */
export function projectRow(project_id: string, path: string, at: Timestamp): ProjectRow {
  const name = path.split(/[\\/]/).findLast((part) => part !== '')
  return { project_id, path, name: name ?? path, at }
}
