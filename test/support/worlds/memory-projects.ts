/** In-memory projects: every absolute directory exists, except those below /gone. */
import type { ProjectStore } from '../../../src/ports/project-store.ts'
import type { RecordStore } from '../../../src/ports/record-store.ts'
import type { StoredVectors, VectorStore } from '../../../src/ports/vector-store.ts'
import { createMemoryRecordStore } from '../../../src/storage/memory/record-store.ts'

export function memoryProjects(config: string | null = null): (root: string) => ProjectStore | null {
  const opened = new Map<string, ProjectStore>()
  return (root) => {
    if (root.startsWith('/gone')) return null
    const project = opened.get(root) ?? {
      root,
      ...withArchives(createMemoryRecordStore()),
      configText: async () => config,
      quarantinedFiles: async () => [],
      unreadableFiles: async () => [],
      vectors: () => memoryShelf(),
      readText: async () => ({ reason: 'there is no such file' }),
    }
    opened.set(root, project)
    return project
  }
}

/** The days that have an archive. */
function withArchives(records: RecordStore): Pick<ProjectStore, 'records' | 'archivedDays'> {
  const days = new Set<string>()
  return {
    records: {
      ...records,
      put(kind, id, body) {
        if (kind.startsWith('archive/')) days.add(kind.slice('archive/'.length))
        return records.put(kind, id, body)
      },
    },
    archivedDays: async () => [...days],
  }
}

function memoryShelf(): VectorStore {
  let kept: StoredVectors | null = null
  return {
    load: async () => kept,
    async save(vectors) {
      kept = vectors
    },
  }
}
