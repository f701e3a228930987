/** What projects remember, put together: the blackboard, decisions, the graph, and what is told of them. */
import { createBlackboard, type Blackboard } from '../modules/blackboard/service.ts'
import { createContext, type ContextService } from '../modules/context/service.ts'
import { createDecisions, type Decisions } from '../modules/decisions/service.ts'
import { createGraph, type Graph } from '../modules/graph/service.ts'
import { createImport, type MemoryImport } from '../modules/memory/import.ts'
import { createMemoryPlaces } from '../modules/memory/place.ts'
import { createMemorySearch } from '../modules/memory/search.ts'
import { memoryTeller } from '../modules/memory/tell.ts'
import type { Records } from '../modules/records/service.ts'
import type { WhereNeeds } from '../modules/records/where.ts'
import type { Clock } from '../ports/clock.ts'
import type { Embedder } from '../ports/embedder.ts'
import type { EventLog } from '../ports/event-log.ts'
import type { Log } from '../ports/log.ts'
import type { Ids } from '../ports/random.ts'

export interface MemoryModules {
  blackboard: Blackboard
  decisions: Decisions
  graph: Graph
  memory: ContextService
  imports: MemoryImport
}

export interface OpenedMemory {
  modules: MemoryModules
  /** Keeps what was learnt in the background. */
  close(): Promise<void>
}

export function openMemory(
  needs: WhereNeeds & {
    records: Records
    events: EventLog
    embedder?: Embedder | null | undefined
    clock: Clock
    ids: Ids
    log: Log
  },
): OpenedMemory {
  const { records, events, embedder = null, clock, ids, log } = needs
  const places = createMemoryPlaces(needs)
  const tell = memoryTeller(events)
  const search = createMemorySearch({ embedder, clock, log })
  const decisions = createDecisions({ places, search, tell, clock, ids, log })
  return {
    modules: {
      blackboard: createBlackboard({ places, decisions, search, tell, clock, ids, log }),
      decisions,
      graph: createGraph({ places, search, clock, ids }),
      imports: createImport({ places, search, tell }),
      memory: createContext({ places, search, records, events, clock }),
    },
    close: () => search.close(),
  }
}
