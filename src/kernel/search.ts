/** Finds an action by words, for whoever does not know its name. */
import MiniSearch from 'minisearch'
import type { Found } from './define.ts'
import { jsonSchema } from './schema.ts'
import { nearest } from '../contracts/names.ts'

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
    tokenize: words,
    searchOptions: {
      boost: BOOST,
      prefix: (term) => term.length > 2,
      fuzzy: (term) => (term.length > 3 ? 0.25 : false),
    },
  })
  const documents = actions.map(documentOf)
  index.addAll(documents)
  const names = new Set(documents.flatMap((one) => words(`${one.name} ${one.facade} ${one.old_names}`)))
  const said = new Set(documents.flatMap((one) => words(Object.values(one).join(' '))))
  // Letters that changed places are two mistakes to the index, and in a short word two are too many.
  const meant = (word: string) => (said.has(word) ? word : (nearest(word, names) ?? word))
  return (query: string) => index.search(words(query).map(meant).join(' '))
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

/** `signals_send`, `sendSignal` and `send signal` have the same words. */
function words(text: string): string[] {
  return text
    .replace(/([a-z0-9])([A-Z])/g, '$1 $2')
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)
    .filter((word) => word.length > 1)
}
