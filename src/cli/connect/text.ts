/** Lines of a text that a person wrote: where they begin and end, and how they end there. */

export const endOfLine = (text: string) => (text.includes('\r\n') ? '\r\n' : '\n')

export const lineStart = (text: string, at: number) => text.lastIndexOf('\n', at - 1) + 1

/** Behind the line's own newline. */
export function lineEnd(text: string, at: number): number {
  const newline = text.indexOf('\n', at)
  return newline === -1 ? text.length : newline + 1
}

/** The blanks at the beginning of the line that `at` stands in. */
export function indentAt(text: string, at: number): string {
  const from = lineStart(text, at)
  return /^[ \t]*/.exec(text.slice(from))?.[0] ?? ''
}

/** Nothing but blanks stands before `at` in its line. */
export const beginsLine = (text: string, at: number) =>
  /^[ \t\uFEFF]*$/.test(text.slice(lineStart(text, at), at))

/** `line 3, column 14`, counted as editors do. */
export function placeOf(text: string, at: number): string {
  return `line ${text.slice(0, at).split('\n').length}, column ${at - lineStart(text, at) + 1}`
}

/** A mark that some editors put in front; parsers must not see it, offsets must not move. */
export const withoutMark = (text: string) => text.replace(/^\uFEFF/, ' ')

export const isBlank = (text: string) => /^[\s\uFEFF]*$/.test(text)
