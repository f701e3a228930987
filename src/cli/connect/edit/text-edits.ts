/** Edits of a text, recorded so that the original can be restored byte for byte. */
import * as z from 'zod'

/** `at` counts UTF-16 units in the text before this edit. */
export const Splice = z.strictObject({
  at: z.number().int().min(0),
  removed: z.string(),
  inserted: z.string(),
})
export type Splice = z.infer<typeof Splice>

/** A text that records its edits. */
export class Draft {
  text: string
  readonly original: string
  readonly splices: Splice[] = []

  constructor(text: string) {
    this.text = text
    this.original = text
  }

  /** Returns the position in the original text of the character at `at`. */
  originOf(at: number): number {
    return this.splices.reduceRight((now, splice) => {
      const end = splice.at + splice.inserted.length
      return now < end ? Math.min(now, splice.at) : now - splice.inserted.length + splice.removed.length
    }, at)
  }

  /** Replaces `length` units at `at`. */
  cut(at: number, length: number, inserted: string): void {
    const removed = this.text.slice(at, at + length)
    if (removed === '' && inserted === '') return
    this.splices.push({ at, removed, inserted })
    this.text = this.text.slice(0, at) + inserted + this.text.slice(at + length)
  }
}

/** Returns the text before the edits. `text` must be the unchanged result of the edits. */
export function unspliced(text: string, splices: readonly Splice[]): string {
  return splices.reduceRight(
    (whole, { at, removed, inserted }) => whole.slice(0, at) + removed + whole.slice(at + inserted.length),
    text,
  )
}
