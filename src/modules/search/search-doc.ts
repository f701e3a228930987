/** What a search knows of one thing that can be found. */

export interface SearchDoc {
  id: string
  /** What says most in the fewest words: a summary. */
  title: string
  /** Everything else that says what it means. Title and body together are what a model reads. */
  body: string
  /** Found by its words, and nothing a model should read: tags, paths, names. */
  also: string
}

/**
 * How a row becomes a document. Read once for each object, so a row that has changed must be another object,
 * and one that has not should be the same.
 */
export type ReadDoc<T extends object> = (row: T) => SearchDoc
