/** Searches what projects remember: one index for each kind of it, made when somebody first searches there. */
import type { Library } from './library.ts'
import type { MemorySearch, RankedBy, Ranking } from './ranking.ts'
import type { Decision } from '../../contracts/decision.ts'
import type { Entry } from '../../contracts/entry.ts'
import type { Entity } from '../../contracts/graph.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Embedder } from '../../ports/embedder.ts'
import type { Log } from '../../ports/log.ts'
import type { VectorShelf } from '../../ports/vector-shelf.ts'
import { createSearch, NO_MODEL, type Search, type SearchNeeds } from '../search/search.ts'
import type { SearchDoc } from '../search/search-doc.ts'

export interface MemorySearchNeeds {
  /** Null where no model is configured. */
  embedder: Embedder | null
  clock: Pick<Clock, 'after' | 'soon'>
  log: Log
}

export interface MemorySearchModule extends MemorySearch {
  /** Ends what goes on in the background, and keeps what it has done. */
  close(): Promise<void>
}

interface Searches {
  entry: Search<Entry>
  decision: Search<Decision>
  entity: Search<Entity>
}

export function createMemorySearch({ embedder, clock, log }: MemorySearchNeeds): MemorySearchModule {
  const opened = new Map<Library, Searches>()
  let standing: RankedBy | null = null

  const searchOf = <T extends object>(
    read: SearchNeeds<T>['read'],
    shelf: VectorShelf | null,
    by: Embedder | null = embedder,
  ): Search<T> => createSearch<T>({ embedder: by, shelf, read, clock, log })

  const searchesOf = (library: Library): Searches => {
    const known = opened.get(library)
    if (known !== undefined) return known
    const searches: Searches = {
      entry: searchOf(docOfEntry, library.project?.vectors('blackboard') ?? null),
      decision: searchOf(docOfDecision, library.project?.vectors('decisions') ?? null),
      // Names mean nothing to a model of sentences.
      entity: searchOf(docOfEntity, null, null),
    }
    opened.set(library, searches)
    return searches
  }

  return {
    async rank(library, kind, items, query): Promise<Ranking> {
      const ranking = await searchesOf(library)[kind].rank(items as never, query)
      if (kind !== 'entity') standing = ranking
      return ranking
    },
    learn(library) {
      if (embedder === null) return
      const { entry, decision } = searchesOf(library)
      const learnt = async () => {
        entry.learn(await library.entries.all())
        decision.learn(await library.decisions.all())
      }
      learnt().catch((err: unknown) => log.warn({ err }, 'what is new could not be read to be embedded'))
    },
    rankedBy: () =>
      standing ?? (embedder === null ? { degraded: true, degraded_reason: NO_MODEL } : { degraded: false }),
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
  const said = Object.entries(properties).flatMap(([key, value]) =>
    typeof value === 'string' ? [`${key} ${value}`] : [],
  )
  return { id, title: name, body: said.join(' '), also: type }
}
