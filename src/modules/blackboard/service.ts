/** The blackboard of a project: its reads, together with posting and archiving. */
import { LIMITS } from '../../contracts/limits/limits.ts'
import type { Entry, EntryType } from '../../contracts/memory/entry.ts'
import { sameText } from '../../contracts/text/same-text.ts'
import { timestamp } from '../../ports/clock.ts'
import { truncateToBytes } from '../lib/truncate-to-bytes.ts'
import { openEntries } from '../memory/open-entries.ts'
import { modeFields, topRanked } from '../memory/ranking.ts'
import { within } from '../memory/scope.ts'
import { createArchiving } from './archiving.ts'
import { exportOf } from './export.ts'
import { createPosting } from './posting.ts'
import { statusOf } from './status.ts'
import type { Blackboard, BlackboardDeps } from './types.ts'

export function createBlackboard(deps: BlackboardDeps): Blackboard {
  const { resolver, search, clock } = deps
  return {
    ...createPosting(deps),
    ...createArchiving(deps),

    async read(call, input) {
      const { memory, toProjectPaths } = resolver.forRead(call)
      const { entry_types, tags, scope, since, until, open, limit } = toProjectPaths(input)
      const all = await memory.entries.list()
      const [from, to] = [millisecondsOf(since, -Infinity), millisecondsOf(until, Infinity)]
      const wanted = (open ? openEntries(all) : all).filter((entry) => {
        const at = Date.parse(entry.timestamp)
        return (
          isOfType(entry, entry_types) &&
          (tags === undefined || tags.some((tag) => entry.tags.some((other) => sameText(other, tag)))) &&
          (scope === undefined || within(entry.scope, scope)) &&
          at >= from &&
          at < to
        )
      })
      return { entries: newest(wanted, limit), total_count: wanted.length }
    },

    async query(call, input) {
      const { memory, toProjectPaths } = resolver.forRead(call)
      const { query, entry_types, scope, limit } = toProjectPaths(input)
      const all = await memory.entries.list()
      const ranking = await search.rank(memory, 'entry', all, query)
      const wanted = all.filter(
        (entry) => isOfType(entry, entry_types) && (scope === undefined || within(entry.scope, scope)),
      )
      const results = topRanked(wanted, ranking.scores, limit).map(({ item, relevance }) => ({
        entry: item,
        relevance,
      }))
      return { results: truncateToBytes(results, LIMITS.answer_list_bytes_max), ...modeFields(ranking) }
    },

    async recent(call, { n, entry_types }) {
      const { memory } = resolver.forRead(call)
      const wanted = (await memory.entries.list()).filter((entry) => isOfType(entry, entry_types))
      return { entries: newest(wanted, n) }
    },

    async status(call) {
      return { ...(await statusOf(resolver.forRead(call))), ...modeFields(search.mode()) }
    },

    async export(call, input) {
      const location = resolver.forRead(call)
      return await exportOf(location, location.toProjectPaths(input).scope, timestamp(clock))
    },
  }
}

function isOfType({ entry_type }: Entry, types: readonly EntryType[] | undefined): boolean {
  return types === undefined || types.includes(entry_type)
}

/** Returns the newest entries that fit into one response, oldest first. */
function newest(entries: readonly Entry[], limit: number): Entry[] {
  return truncateToBytes(entries.slice(-limit).toReversed(), LIMITS.answer_list_bytes_max).toReversed()
}

function millisecondsOf(time: string | undefined, fallback: number): number {
  return time === undefined ? fallback : Date.parse(time)
}
