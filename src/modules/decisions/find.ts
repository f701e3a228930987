/** Decisions as they are asked for; nothing here changes one. */
import { folded, sameText } from '../../contracts/same-text.ts'
import { decisionIn } from './change.ts'
import { lineOf } from './line.ts'
import { traceOf } from './trace.ts'
import type {
  Decision,
  DecisionList,
  DecisionStatus,
  DecisionTrace,
  ListDecisionsInput,
  SearchDecisionsAnswer,
  SearchDecisionsInput,
  TraceDecisionInput,
  WhyAnswer,
  WhyInput,
} from '../../contracts/decision.ts'
import type { Json } from '../../contracts/ids.ts'
import { LIMITS } from '../../contracts/limits.ts'
import { hasText } from '../has-text.ts'
import type { MemoryCall, MemoryPlaces } from '../memory/place.ts'
import { best, told, type MemorySearch } from '../memory/ranking.ts'
import { concerns, within } from '../memory/scope.ts'
import { shownTo } from '../signals/defang.ts'
import { withinBytes } from '../within-bytes.ts'

/** Every call may throw `project_unknown` and `store_unavailable`; what takes an id also `record_unknown`. */
export interface DecisionFinder {
  /** What was decided about a file, a folder, a module or a symbol. */
  why(call: MemoryCall, input: WhyInput): Promise<WhyAnswer>
  trace(call: MemoryCall, input: TraceDecisionInput): Promise<DecisionTrace>
  list(call: MemoryCall, input: ListDecisionsInput): Promise<DecisionList>
  search(call: MemoryCall, input: SearchDecisionsInput): Promise<SearchDecisionsAnswer>
  read(call: MemoryCall, id: string): Promise<Decision>
}

export function createDecisionFinder({
  places,
  search,
}: {
  places: Pick<MemoryPlaces, 'toRead'>
  search: MemorySearch
}): DecisionFinder {
  return {
    async why(call, input) {
      const { library, here } = places.toRead(call)
      const { scope, limit } = here(input)
      const about = (await library.decisions.all()).filter((one) => isAbout(one, scope)).toReversed()
      const count = (wanted: DecisionStatus) => about.filter(({ status }) => status === wanted).length
      return shownTo(call.caller, {
        decisions: withinBytes(about.slice(0, limit).map(reasonedLineOf), LIMITS.answer_list_bytes_max),
        active_count: count('active'),
        provisional_count: count('provisional'),
        total_count: about.length,
      })
    },

    async trace(call, { decision_id, direction }) {
      const { library } = places.toRead(call)
      const from = await decisionIn(library, decision_id)
      const chain = traceOf(await library.decisions.all(), from, direction)
      return shownTo(call.caller, { chain: withinBytes(chain, LIMITS.answer_list_bytes_max) })
    },

    async list(call, input) {
      const { library, here } = places.toRead(call)
      const { status, domain, scope, confidence, agent_id, since, text, commit_hash, limit } = here(input)
      const from = since === undefined ? -Infinity : Date.parse(since)
      const part = text === undefined ? undefined : folded(text)
      const wanted = (await library.decisions.all()).filter(
        (one) =>
          (status === undefined || one.status === status) &&
          (domain === undefined || one.domain === domain) &&
          (scope === undefined || isAbout(one, scope)) &&
          (confidence === undefined || one.confidence === confidence) &&
          (agent_id === undefined || one.agent_id === agent_id) &&
          Date.parse(one.timestamp) >= from &&
          (part === undefined || says(one, part)) &&
          (commit_hash === undefined || one.commit_hashes.some((hash) => isSameCommit(hash, commit_hash))),
      )
      const lines = wanted.toReversed().slice(0, limit).map(lineOf)
      const decisions = withinBytes(lines, LIMITS.answer_list_bytes_max)
      return shownTo(call.caller, { decisions, total_count: wanted.length })
    },

    async search(call, { query, status, domain, limit }) {
      const { library } = places.toRead(call)
      const all = await library.decisions.all()
      const ranking = await search.rank(library, 'decision', all, query)
      const wanted = all.filter(
        (one) =>
          (status === undefined || one.status === status) && (domain === undefined || one.domain === domain),
      )
      const results = best(wanted, ranking.scores, limit).map(({ item, relevance }) => ({
        decision: lineOf(item),
        relevance,
      }))
      return shownTo(call.caller, {
        results: withinBytes(results, LIMITS.answer_list_bytes_max),
        ...told(ranking),
      })
    },

    async read(call, id) {
      return shownTo(call.caller, await decisionIn(places.toRead(call).library, id))
    },
  }
}

/** By what it says of its place, and by what it names: files in a folder, a file, a symbol. */
export function isAbout(decision: Decision, scope: string): boolean {
  return (
    concerns(decision.scope, scope) ||
    decision.affected_symbols.some((symbol) => sameText(symbol, scope)) ||
    decision.affected_files.some((file) => within(file, scope))
  )
}

/** With the alternatives, so that nobody tries again what was rejected. */
function reasonedLineOf(decision: Decision): WhyAnswer['decisions'][number] {
  const alternatives = decision.alternatives.map(({ option, reason_rejected }) =>
    reason_rejected === undefined ? { option } : { option, reason_rejected },
  )
  return { ...lineOf(decision), alternatives }
}

/** Either may be shortened. */
function isSameCommit(one: string, other: string): boolean {
  return one.startsWith(other) || other.startsWith(one)
}

/** What is still to be told elsewhere is nothing that it says. */
function says({ outbox: _, ...decision }: Decision, part: string): boolean {
  return hasText(decision as unknown as Json, part)
}
