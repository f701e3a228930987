/**
 * Comparison of text in Unicode's composed form (NFC). macOS returns decomposed file names, so the same `für` may have
 * two spellings. Stored text is not normalized.
 */

export function toNfc(text: string): string {
  // Fast path: ASCII is always composed.
  return ASCII.test(text) ? text : text.normalize('NFC')
}

/** The same in lower case. */
export function foldCase(text: string): string {
  return toNfc(text).toLowerCase()
}

export function sameText(one: string, other: string): boolean {
  return one === other || toNfc(one) === toNfc(other)
}

const ASCII = /^[\x00-\x7f]*$/
