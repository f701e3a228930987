/** A document to search. */

export interface SearchDoc {
  id: string
  /** A summary. */
  title: string
  /** The rest of the text. A model embeds title and body. */
  body: string
  /** Tags, paths and names, which are found by keywords and are not embedded. */
  also: string
}

/** Converts a row to a document. Called once for each object, so a changed row must be a new object. */
export type ReadDoc<T extends object> = (row: T) => SearchDoc
