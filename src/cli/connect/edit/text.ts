/** Positions of lines in a text, and its line endings. */

export const endOfLine = (text: string) => (text.includes('\r\n') ? '\r\n' : '\n')

export const lineStart = (text: string, at: number) => text.lastIndexOf('\n', at - 1) + 1

/** Returns the position after the line's newline. */
export function lineEnd(text: string, at: number): number {
  const newline = text.indexOf('\n', at)
  return newline === -1 ? text.length : newline + 1
}

/** Returns the indentation of the line at `at`. */
export function indentAt(text: string, at: number): string {
  const from = lineStart(text, at)
  return /^[ \t]*/.exec(text.slice(from))?.[0] ?? ''
}

/** Returns true if only blanks are before `at` in its line. */
export const beginsLine = (text: string, at: number) =>
  /^[ \t\uFEFF]*$/.test(text.slice(lineStart(text, at), at))

/** Formats `line 3, column 14`, counted from 1. */
export function placeOf(text: string, at: number): string {
  return `line ${text.slice(0, at).split('\n').length}, column ${at - lineStart(text, at) + 1}`
}

/** Replaces a byte order mark by a blank, so that parsers accept the text and offsets stay valid. */
export const withoutMark = (text: string) => text.replace(/^\uFEFF/, ' ')

export const isBlank = (text: string) => /^[\s\uFEFF]*$/.test(text)
