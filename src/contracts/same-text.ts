/**
 * How texts of people are compared: by Unicode's composed form (NFC). macOS hands out file names in the decomposed one,
 * so that the same `für` may have two spellings. What is stored stays as it was written.
 */

export function composed(text: string): string {
  // Most text is ASCII, which has one form only.
  return ASCII.test(text) ? text : text.normalize('NFC')
}

/** The same without capital letters. */
export function folded(text: string): string {
  return composed(text).toLowerCase()
}

export function sameText(one: string, other: string): boolean {
  return one === other || composed(one) === composed(other)
}

const ASCII = /^[\x00-\x7f]*$/
