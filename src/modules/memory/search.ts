/** Searches project memories: one index for each memory and kind, created at the first search. */
import type { ProjectMemory } from './project-memory.ts'
import type { MemorySearch, SearchMode, Ranking } from './ranking.ts'
import type { Decision } from '../../contracts/memory/decision.ts'
import type { Entry } from '../../contracts/memory/entry.ts'
import type { Entity } from '../../contracts/memory/graph.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Embedder } from '../../ports/embedder.ts'
import type { Log } from '../../ports/log.ts'
import type { VectorStore } from '../../ports/vector-store.ts'
import { createSearch, NO_MODEL, type Search, type SearchDeps } from '../search/search.ts'
import type { SearchDoc } from '../search/search-doc.ts'

export interface MemorySearchDeps {
  /** Null where no model is configured. */
  embedder: Embedder | null
  clock: Pick<Clock, 'after' | 'soon'>
  log: Log
}

export interface MemorySearchModule extends MemorySearch {
  /** Stops the background work and stores its results. */
  close(): Promise<void>
}

interface Searches {
  entry: Search<Entry>
  decision: Search<Decision>
  entity: Search<Entity>
}

export function createMemorySearch({ embedder, clock, log }: MemorySearchDeps): MemorySearchModule {
  const opened = new Map<ProjectMemory, Searches>()
  let last_mode: SearchMode | null = null

  const searchOf = <T extends object>(
    read: SearchDeps<T>['read'],
    vectors: VectorStore | null,
    by: Embedder | null = embedder,
  ): Search<T> => createSearch<T>({ embedder: by, vectors, read, clock, log })

  const searchesOf = (memory: ProjectMemory): Searches => {
    const known = opened.get(memory)
    if (known !== undefined) return known
    const searches: Searches = {
      entry: searchOf(docOfEntry, memory.project?.vectors('blackboard') ?? null),
      decision: searchOf(docOfDecision, memory.project?.vectors('decisions') ?? null),
      // Only keywords, because names carry no meaning for a sentence model.
      entity: searchOf(docOfEntity, null, null),
    }
    opened.set(memory, searches)
    return searches
  }

  return {
    async rank(memory, kind, items, query): Promise<Ranking> {
      const ranking = await searchesOf(memory)[kind].rank(items as never, query)
      if (kind !== 'entity') last_mode = ranking
      return ranking
    },
    learn(memory) {
      if (embedder === null) return
      const { entry, decision } = searchesOf(memory)
      const learnAll = async () => {
        entry.learn(await memory.entries.list())
        decision.learn(await memory.decisions.list())
      }
      learnAll().catch((err: unknown) => log.warn({ err }, 'new records could not be read for embedding'))
    },
    mode: () =>
      last_mode ?? (embedder === null ? { degraded: true, degraded_reason: NO_MODEL } : { degraded: false }),
    async close() {
      await Promise.all(
        [...opened.values()].flatMap(({ entry, decision }) => [entry.close(), decision.close()]),
      )
    },
  }
}

function docOfEntry({ id, summary, detail, tags, scope }: Entry): SearchDoc {
  return { id, title: summary, body: detail, also: [scope, ...tags].join(' ') }
}

function docOfDecision(decision: Decision): SearchDoc {
  const { id, summary, rationale, context, scope, domain, affected_files, affected_symbols } = decision
  const also = [scope, domain, ...affected_files, ...affected_symbols].join(' ')
  return { id, title: summary, body: `${rationale} ${context}`, also }
}

function docOfEntity({ id, name, type, properties }: Entity): SearchDoc {
  const texts = Object.entries(properties).flatMap(([key, value]) =>
    typeof value === 'string' ? [`${key} ${value}`] : [],
  )
  return { id, title: name, body: texts.join(' '), also: type }
}
