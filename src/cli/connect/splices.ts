/** Cuts into a text, kept so that the text can be made whole again byte for byte. */
import * as z from 'zod'

/** `at` counts UTF-16 units in the text as it stood when this cut was made. */
export const Splice = z.strictObject({
  at: z.number().int().min(0),
  removed: z.string(),
  inserted: z.string(),
})
export type Splice = z.infer<typeof Splice>

/** A text under change that remembers every cut. */
export class Draft {
  text: string
  readonly original: string
  readonly splices: Splice[] = []

  constructor(text: string) {
    this.text = text
    this.original = text
  }

  /** Where in the original text stood what stands at `at` now. */
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

/** What the text was before the cuts. Only right for exactly the text that they left. */
export function unspliced(text: string, splices: readonly Splice[]): string {
  return splices.reduceRight(
    (whole, { at, removed, inserted }) => whole.slice(0, at) + removed + whole.slice(at + inserted.length),
    text,
  )
}
