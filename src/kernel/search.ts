/** Searches actions by words. */
import MiniSearch from 'minisearch'
import type { Found } from './define.ts'
import { jsonSchema } from './schema.ts'
import { nearest } from '../contracts/text/names.ts'
import { tokenize } from '../contracts/text/tokenize.ts'

/** Best first. Matches any word, also prefixes and small misspellings. */
export type ActionSearch = (query: string) => Found[]

/** Names have the highest weight, because a query with a name means that action. */
const BOOST = { name: 4, facade: 3, old_names: 2, summary: 2, facade_summary: 1, fields: 1 }

/** The index is created at the first search. */
export function createActionSearch(actions: readonly Found[]): ActionSearch {
  let index: ReturnType<typeof indexOf> | null = null
  return (query) => {
    index ??= indexOf(actions)
    return index(query).flatMap(({ id }) => {
      const found = actions[Number(id)]
      return found === undefined ? [] : [found]
    })
  }
}

function indexOf(actions: readonly Found[]) {
  const index = new MiniSearch<Record<keyof typeof BOOST | 'id', string | number>>({
    fields: Object.keys(BOOST),
    tokenize: tokenize,
    searchOptions: {
      boost: BOOST,
      prefix: (term) => term.length > 2,
      fuzzy: (term) => (term.length > 3 ? 0.25 : false),
    },
  })
  const documents = actions.map(documentOf)
  index.addAll(documents)
  const names = new Set(documents.flatMap((one) => tokenize(`${one.name} ${one.facade} ${one.old_names}`)))
  const words = new Set(documents.flatMap((one) => tokenize(Object.values(one).join(' '))))
  // Swapped letters are two edits in the index, too many for a short word; the nearest name corrects them.
  const corrected = (word: string) => (words.has(word) ? word : (nearest(word, names) ?? word))
  return (query: string) => index.search(tokenize(query).map(corrected).join(' '))
}

function documentOf({ facade, name, action }: Found, id: number) {
  const aliases = (action.aliases ?? []).map((alias) => (typeof alias === 'string' ? alias : alias.name))
  return {
    id,
    name,
    facade: facade.name,
    old_names: aliases.join(' '),
    summary: action.summary,
    facade_summary: facade.summary,
    fields: Object.keys(jsonSchema(action.input, 'input')['properties'] ?? {}).join(' '),
  }
}
