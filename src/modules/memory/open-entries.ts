/** Open entries: needs, questions and warnings that no later entry has settled. */
import { memoizeByRef } from '../lib/memoize.ts'
import { SETTLED_BY, type Entry } from '../../contracts/memory/entry.ts'

/** Ids of the entries that another entry settles. Entries never change, so they are computed once per list. */
const settledOf = memoizeByRef((entries: readonly Entry[]): ReadonlySet<string> => {
  const types = new Map(entries.map((entry) => [entry.id, entry.entry_type]))
  const settled = new Set<string>()
  for (const { entry_type, relates_to = [] } of entries) {
    for (const id of relates_to) {
      const type = types.get(id)
      if (type !== undefined && SETTLED_BY[type]?.includes(entry_type) === true) settled.add(id)
    }
  }
  return settled
})

/** Returns the open entries, in the order of the entries. */
export function openEntries(entries: readonly Entry[]): Entry[] {
  const settled = settledOf(entries)
  return entries.filter(({ id, entry_type }) => entry_type in SETTLED_BY && !settled.has(id))
}

/** The same as a set, which callers must not modify. */
export const openEntrySet = memoizeByRef(
  (entries: readonly Entry[]): ReadonlySet<Entry> => new Set(openEntries(entries)),
)
