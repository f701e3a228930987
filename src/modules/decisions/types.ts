/** Interfaces of the decisions module. */
import type { EntryFields } from './decision-entries.ts'
import type {
  DecideInput,
  Decided,
  Decision,
  DecisionList,
  DecisionTrace,
  LinkCommitInput,
  ListDecisionsInput,
  Overridden,
  OverrideInput,
  Reconsidered,
  ReconsiderInput,
  SearchDecisionsAnswer,
  SearchDecisionsInput,
  TraceDecisionInput,
  WhyAnswer,
  WhyInput,
} from '../../contracts/memory/decision.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Log } from '../../ports/log.ts'
import type { Ids } from '../../ports/random.ts'
import type { PublishMemoryEvent } from '../memory/memory-events.ts'
import type { MemoryCall, MemoryResolver } from '../memory/memory-resolver.ts'
import type { MemorySearch } from '../memory/ranking.ts'

/** Input of a new decision; an architecture decision record uses `decision` and `consequences`. */
export interface DecisionInput extends Omit<DecideInput, 'context' | 'rationale'> {
  context?: string | undefined
  rationale?: string | undefined
  decision?: string | undefined
  consequences?: string | undefined
  status?: 'active' | 'provisional'
}

/**
 * Read access. Every call may throw `project_unknown` and `store_unavailable`; calls that take an id also
 * `record_unknown`.
 */
export interface DecisionFinder {
  /** Decisions about a file, a folder, a module or a symbol. */
  why(call: MemoryCall, input: WhyInput): Promise<WhyAnswer>
  trace(call: MemoryCall, input: TraceDecisionInput): Promise<DecisionTrace>
  list(call: MemoryCall, input: ListDecisionsInput): Promise<DecisionList>
  search(call: MemoryCall, input: SearchDecisionsInput): Promise<SearchDecisionsAnswer>
  read(call: MemoryCall, id: string): Promise<Decision>
}

/** Every call may throw `project_unknown` and `store_unavailable`; calls that take an id also `record_unknown`. */
export interface Decisions extends DecisionFinder {
  /** Throws `record_unknown` for a missing decision in `depends_on` or `supersedes`, and `record_too_large`. */
  decide(
    call: MemoryCall,
    input: DecisionInput,
    entry?: EntryFields,
  ): Promise<Decided & { entry_id: string; decision: Decision }>
  reconsider(call: MemoryCall, input: ReconsiderInput): Promise<Reconsidered>
  /** Throws `transition_forbidden` for a decision that is not in force. */
  override(call: MemoryCall, input: OverrideInput): Promise<Overridden>
  linkCommit(
    call: MemoryCall,
    input: LinkCommitInput,
  ): Promise<{ decision_id: string; commit_hashes: string[] }>
  /**
   * Propagates pending changes in every project that was called since the process started. Reads no file where nothing
   * is pending.
   */
  sweep(): Promise<void>
}

export interface DecisionDeps {
  resolver: MemoryResolver
  search: MemorySearch
  publish: PublishMemoryEvent
  clock: Clock
  ids: Ids
  log: Log
}
