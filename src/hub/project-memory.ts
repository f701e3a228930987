/** Composes project memory: blackboard, decisions, graph, context and import. */
import { createBlackboard } from '../modules/blackboard/service.ts'
import type { Blackboard } from '../modules/blackboard/types.ts'
import { createContext, type ContextService } from '../modules/context/service.ts'
import { createDecisions } from '../modules/decisions/service.ts'
import type { Decisions } from '../modules/decisions/types.ts'
import { createGraph, type Graph } from '../modules/graph/service.ts'
import { createImport, type MemoryImport } from '../modules/memory/import.ts'
import { createMemoryResolver } from '../modules/memory/memory-resolver.ts'
import { createMemorySearch } from '../modules/memory/search.ts'
import { createMemoryPublisher } from '../modules/memory/memory-events.ts'
import type { Records } from '../modules/records/service.ts'
import type { RecordLocatorDeps } from '../modules/records/record-location.ts'
import type { Clock } from '../ports/clock.ts'
import type { Embedder } from '../ports/embedder.ts'
import type { EventLog } from '../ports/event-log.ts'
import type { Log } from '../ports/log.ts'
import type { Ids } from '../ports/random.ts'

export interface MemoryModules {
  blackboard: Blackboard
  decisions: Decisions
  graph: Graph
  context: ContextService
  memoryImport: MemoryImport
}

export interface OpenedMemory {
  modules: MemoryModules
  /** Writes what the search index has computed in the background. */
  close(): Promise<void>
}

export function openMemory(
  deps: RecordLocatorDeps & {
    records: Records
    events: EventLog
    embedder?: Embedder | null | undefined
    clock: Clock
    ids: Ids
    log: Log
  },
): OpenedMemory {
  const { records, events, embedder = null, clock, ids, log } = deps
  const resolver = createMemoryResolver(deps)
  const publish = createMemoryPublisher(events)
  const search = createMemorySearch({ embedder, clock, log })
  const decisions = createDecisions({ resolver, search, publish, clock, ids, log })
  return {
    modules: {
      blackboard: createBlackboard({ resolver, decisions, search, publish, clock, ids, log }),
      decisions,
      graph: createGraph({ resolver, search, clock, ids }),
      memoryImport: createImport({ resolver, search, publish }),
      context: createContext({ resolver, search, records, events, clock }),
    },
    close: () => search.close(),
  }
}
