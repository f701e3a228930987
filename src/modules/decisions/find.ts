/** Read access to decisions. */
import { foldCase, sameText } from '../../contracts/text/same-text.ts'
import { decisionIn } from './change.ts'
import { traceOf } from './trace.ts'
import type { Decision, DecisionLine, DecisionStatus, WhyAnswer } from '../../contracts/memory/decision.ts'
import type { DecisionFinder } from './types.ts'
import type { Json } from '../../contracts/ids.ts'
import { LIMITS } from '../../contracts/limits/limits.ts'
import { containsText } from '../lib/contains-text.ts'
import type { MemoryResolver } from '../memory/memory-resolver.ts'
import { topRanked, modeFields, type MemorySearch } from '../memory/ranking.ts'
import { concerns, within } from '../memory/scope.ts'
import { truncateToBytes } from '../lib/truncate-to-bytes.ts'

export function createDecisionFinder({
  resolver,
  search,
}: {
  resolver: Pick<MemoryResolver, 'forRead'>
  search: MemorySearch
}): DecisionFinder {
  return {
    async why(call, input) {
      const { memory, toProjectPaths } = resolver.forRead(call)
      const { scope, limit } = toProjectPaths(input)
      const matching = (await memory.decisions.list()).filter((one) => isAbout(one, scope)).toReversed()
      const count = (expected: DecisionStatus) => matching.filter(({ status }) => status === expected).length
      return {
        decisions: truncateToBytes(
          matching.slice(0, limit).map(toLineWithAlternatives),
          LIMITS.answer_list_bytes_max,
        ),
        active_count: count('active'),
        provisional_count: count('provisional'),
        total_count: matching.length,
      }
    },

    async trace(call, { decision_id, direction }) {
      const { memory } = resolver.forRead(call)
      const from = await decisionIn(memory, decision_id)
      const chain = traceOf(await memory.decisions.list(), from, direction)
      return { chain: truncateToBytes(chain, LIMITS.answer_list_bytes_max) }
    },

    async list(call, input) {
      const { memory, toProjectPaths } = resolver.forRead(call)
      const { status, domain, scope, confidence, agent_id, since, text, commit_hash, limit } =
        toProjectPaths(input)
      const from = since === undefined ? -Infinity : Date.parse(since)
      const part = text === undefined ? undefined : foldCase(text)
      const matching = (await memory.decisions.list()).filter(
        (one) =>
          (status === undefined || one.status === status) &&
          (domain === undefined || one.domain === domain) &&
          (scope === undefined || isAbout(one, scope)) &&
          (confidence === undefined || one.confidence === confidence) &&
          (agent_id === undefined || one.agent_id === agent_id) &&
          Date.parse(one.timestamp) >= from &&
          (part === undefined || matchesText(one, part)) &&
          (commit_hash === undefined || one.commit_hashes.some((hash) => isSameCommit(hash, commit_hash))),
      )
      const lines = matching.toReversed().slice(0, limit).map(toLine)
      const decisions = truncateToBytes(lines, LIMITS.answer_list_bytes_max)
      return { decisions, total_count: matching.length }
    },

    async search(call, { query, status, domain, limit }) {
      const { memory } = resolver.forRead(call)
      const all = await memory.decisions.list()
      const ranking = await search.rank(memory, 'decision', all, query)
      const matching = all.filter(
        (one) =>
          (status === undefined || one.status === status) && (domain === undefined || one.domain === domain),
      )
      const results = topRanked(matching, ranking.scores, limit).map(({ item, relevance }) => ({
        decision: toLine(item),
        relevance,
      }))
      return {
        results: truncateToBytes(results, LIMITS.answer_list_bytes_max),
        ...modeFields(ranking),
      }
    },

    async read(call, id) {
      return await decisionIn(resolver.forRead(call).memory, id)
    },
  }
}

/** Whether a decision concerns a scope: by its own scope, its affected files or its affected symbols. */
export function isAbout(decision: Decision, scope: string): boolean {
  return (
    concerns(decision.scope, scope) ||
    decision.affected_symbols.some((symbol) => sameText(symbol, scope)) ||
    decision.affected_files.some((file) => within(file, scope))
  )
}

/** With the alternatives, so that a rejected one is not tried again. */
function toLineWithAlternatives(decision: Decision): WhyAnswer['decisions'][number] {
  const alternatives = decision.alternatives.map(({ option, reason_rejected }) =>
    reason_rejected === undefined ? { option } : { option, reason_rejected },
  )
  return { ...toLine(decision), alternatives }
}

/** Either hash may be abbreviated. */
function isSameCommit(one: string, other: string): boolean {
  return one.startsWith(other) || other.startsWith(one)
}

/** The outbox is not searched. */
function matchesText({ outbox: _, ...decision }: Decision, part: string): boolean {
  return containsText(decision as unknown as Json, part)
}

function toLine(decision: Decision): DecisionLine {
  const { id, timestamp, agent_id, domain, scope, summary, rationale, confidence, status } = decision
  const { alternatives, affected_files, affected_symbols, commit_hashes } = decision
  return {
    id,
    timestamp,
    agent_id,
    domain,
    scope,
    summary,
    rationale,
    confidence,
    status,
    alternatives_count: alternatives.length,
    affected_files,
    affected_symbols,
    commit_hashes,
  }
}
