/** Records the tool calls and compactions among the items of a thread and of its subagents, each begin and end once. */
import { callOf, endOf } from './item-calls.ts'
import { given, timeOf, word, type Item } from './messages.ts'
import type { Place, RecordFact } from './place.ts'
import type { ThreadUsage } from './thread-usage.ts'
import { LIMITS } from '../../../src/contracts/limits/limits.ts'

interface Seen {
  place: Place
  ended: boolean
  /** Of a compaction: the size of the context before it. */
  tokens_before?: number | undefined
}

export function threadItems(record: RecordFact, usage: Pick<ThreadUsage, 'context'>) {
  /** By the id of the item, oldest first. */
  const items = new Map<string, Seen>()

  function started(item: Item, thread_id: string, place: Place): void {
    const call = callOf(item)
    const compacts = item.type === 'contextCompaction'
    if ((call === null && !compacts) || items.has(item.id)) return
    items.set(item.id, {
      place,
      ended: false,
      tokens_before: compacts ? usage.context(thread_id) : undefined,
    })
    const oldest = items.keys().next().value
    if (items.size > LIMITS.activity_tracked_max && oldest !== undefined) items.delete(oldest)
    if (call === null) return void record({ kind: 'compaction.started', data: {} }, place)
    const { tool, input } = call
    const data = { action_id: word(item.id), tool, ...given({ input }) }
    record({ kind: 'action.started', data }, place)
  }

  return {
    isKnown: (item_id: string) => items.has(item_id),
    started,

    /** The begin may not have been reported. A call may end after its turn. */
    completed(item: Item, thread_id: string, place: Place): void {
      started(item, thread_id, { ...place, at: timeOf(item.startedAtMs) ?? place.at })
      const seen = items.get(item.id)
      if (seen === undefined || seen.ended) return
      seen.ended = true
      const where = { ...seen.place, at: place.at }
      const call = callOf(item)
      if (call !== null) return void record(endOf(item, call), where)
      const { tokens_before } = seen
      const data = given({ tokens_before, tokens_after: usage.context(thread_id) })
      record({ kind: 'compaction.ended', data }, where)
    },
  }
}
