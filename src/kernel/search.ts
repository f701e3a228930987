/** Finds an action by words, for whoever does not know its name. */
import MiniSearch from 'minisearch'
import type { Found } from './define.ts'
import { jsonSchema } from './schema.ts'
import { nearest } from '../contracts/names.ts'
import { wordsOf } from '../contracts/words.ts'

/** Best first. Every word counts, a beginning of one too, and a small misspelling. */
export type ActionSearch = (query: string) => Found[]

/** The names weigh most: who types one wants it, not what only speaks of it. */
const BOOST = { name: 4, facade: 3, old_names: 2, summary: 2, facade_summary: 1, fields: 1 }

/** The index is made for the first who searches. */
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
    tokenize: wordsOf,
    searchOptions: {
      boost: BOOST,
      prefix: (term) => term.length > 2,
      fuzzy: (term) => (term.length > 3 ? 0.25 : false),
    },
  })
  const documents = actions.map(documentOf)
  index.addAll(documents)
  const names = new Set(documents.flatMap((one) => wordsOf(`${one.name} ${one.facade} ${one.old_names}`)))
  const said = new Set(documents.flatMap((one) => wordsOf(Object.values(one).join(' '))))
  // Letters that changed places are two mistakes to the index, and in a short word two are too many.
  const meant = (word: string) => (said.has(word) ? word : (nearest(word, names) ?? word))
  return (query: string) => index.search(wordsOf(query).map(meant).join(' '))
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
