/** What still waits for an answer: needs, questions and warnings that no later entry has settled. */
import { SETTLED_BY, type Entry } from '../../contracts/entry.ts'

/** Ids of what was settled by an entry that refers to it. Entries do not change, so it is found out once. */
const settledOf = remembered((entries: readonly Entry[]): ReadonlySet<string> => {
  const types = new Map(entries.map((entry) => [entry.id, entry.entry_type]))
  const settled = new Set<string>()
  for (const { entry_type, relates_to = [] } of entries) {
    for (const id of relates_to) {
      const asked = types.get(id)
      if (asked !== undefined && SETTLED_BY[asked]?.includes(entry_type) === true) settled.add(id)
    }
  }
  return settled
})

/** In the order of the entries. */
export function openOnes(entries: readonly Entry[]): Entry[] {
  const settled = settledOf(entries)
  return entries.filter(({ id, entry_type }) => entry_type in SETTLED_BY && !settled.has(id))
}

/** The same as a set; nobody changes it. */
export const openSetOf = remembered(
  (entries: readonly Entry[]): ReadonlySet<Entry> => new Set(openOnes(entries)),
)

/** What follows from a list is found out once for that very list. */
export function remembered<K extends object, V>(find: (key: K) => V): (key: K) => V {
  const known = new WeakMap<K, V>()
  return (key) => {
    if (known.has(key)) return known.get(key) as V
    const value = find(key)
    known.set(key, value)
    return value
  }
}
