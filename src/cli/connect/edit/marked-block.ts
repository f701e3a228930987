/** A block of lines in a user's file, between two lines that mark it as turnbell's. */
import { TurnbellError } from '../../../contracts/errors/errors.ts'
import { Draft } from './text-edits.ts'
import { endOfLine, isBlank, lineEnd, lineStart, placeOf } from './text.ts'

export interface Marks {
  open: string
  close: string
}

/** The heading of turnbell's section in a file of instructions. */
export const SECTION = '## Signals (turnbell)'

export const MARKDOWN_MARKS: Marks = {
  open: '<!-- turnbell: begin (written by `turnbell connect`, taken out by `turnbell disconnect`) -->',
  close: '<!-- turnbell: end -->',
}
export const HASH_MARKS: Marks = {
  open: '# turnbell: begin (written by `turnbell connect`, taken out by `turnbell disconnect`)',
  close: '# turnbell: end',
}

/** Appends the block after an empty line, with the file's line ending. */
export function putBlock(text: string, marks: Marks, body: string): Draft {
  const draft = new Draft(text)
  const eol = endOfLine(text)
  const gap = isBlank(text) ? '' : /(^|\n)\r?\n$/.test(text) ? '' : text.endsWith('\n') ? eol : eol + eol
  const lines = [marks.open, ...body.trimEnd().split('\n'), marks.close]
  draft.cut(text.length, 0, gap + lines.map((line) => line + eol).join(''))
  return draft
}

/** Inserts the block after the interpreter line. An empty file gets `head` as its first line. */
export function putBlockFirst(
  text: string,
  { marks, head, body }: { marks: Marks; head: string; body: string },
): Draft {
  const draft = new Draft(text)
  const eol = endOfLine(text)
  const at = text.startsWith('#!') ? lineEnd(text, 0) : 0
  const before = isBlank(text) ? head : at > 0 && !text.slice(0, at).endsWith('\n') ? eol : ''
  const lines = [marks.open, ...body.trimEnd().split('\n'), marks.close]
  draft.cut(at, 0, before + lines.map((line) => line + eol).join(''))
  return draft
}

/** Returns the lines between the marks, joined by newlines; null if there is no block. */
export function blockIn(file: string, text: string, marks: Marks): string | null {
  const block = find(file, text, marks)
  return block === null ? null : text.slice(block.body, block.close).replaceAll('\r\n', '\n').trimEnd()
}

/** Returns the text without the block and without the empty line before it. */
export function withoutBlock(file: string, text: string, marks: Marks): string {
  const block = find(file, text, marks)
  return block === null ? text : withoutLines(text, block.open, lineEnd(text, block.close))
}

/**
 * Removes a block that lost one or both of its marks: the remaining mark and the lines of the body, wherever they are. An
 * edited body stays.
 */
export function withoutBody(text: string, marks: Marks, body: string): string {
  let rest = text
  for (const mark of [marks.open, marks.close]) {
    const at = lineOf(rest, mark, 0)
    if (at !== null) rest = withoutLines(rest, at, lineEnd(rest, at))
  }
  const lines = body.trimEnd().replaceAll('\n', endOfLine(rest))
  const at = lines === '' ? -1 : rest.indexOf(lines)
  const whole = at !== -1 && lineStart(rest, at) === at && isLineEnd(rest, at + lines.length)
  return whole ? withoutLines(rest, at, lineEnd(rest, at + lines.length)) : rest
}

/** Returns the text without the section of a Markdown heading, up to the next heading of the same or a higher level. */
export function withoutSection(text: string, heading: string): string {
  const at = lineOf(text, heading, 0)
  if (at === null) return text
  const level = /^#+/.exec(heading)?.[0].length ?? 1
  const next = new RegExp(`^#{1,${level}} `, 'm')
  const from = lineEnd(text, at)
  const match = next.exec(text.slice(from))
  return withoutLines(text, at, match === null ? text.length : from + match.index)
}

/** Removes whole lines, and the empty line before them if another empty line or the end follows. */
function withoutLines(text: string, from: number, to: number): string {
  const head = text.slice(0, from)
  const tail = text.slice(to)
  const gap = isBlank(tail) || /^\r?\n/.test(tail) ? (/\n(\r?\n)$/.exec(head)?.[1]?.length ?? 0) : 0
  return head.slice(0, head.length - gap) + tail
}

const isLineEnd = (text: string, at: number) => at === text.length || /^\r?\n/.test(text.slice(at, at + 2))

function find(file: string, text: string, marks: Marks) {
  const open = lineOf(text, marks.open, 0)
  const close = lineOf(text, marks.close, open ?? 0)
  if (open === null && close === null) return null
  if (open !== null && close !== null) return { open, body: lineEnd(text, open), close }
  throw new TurnbellError('config_invalid', {
    detail: `${file}, ${placeOf(text, open ?? close ?? 0)}: one of the two lines that mark turnbell's block is missing`,
    hint: `Remove the block by hand, or write the line \`${open === null ? marks.open : marks.close}\` again.`,
  })
}

/** Returns the beginning of the line with exactly this content. */
export function lineOf(text: string, line: string, from: number): number | null {
  for (let at = text.indexOf(line, from); at !== -1; at = text.indexOf(line, at + 1)) {
    const whole = text.slice(lineStart(text, at), lineEnd(text, at)).trim()
    if (whole === line || whole === `\uFEFF${line}`) return lineStart(text, at)
  }
  return null
}
