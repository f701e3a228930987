/**
 * Reads Codex's screen: a bold `›`, the text, an empty row, hints. An empty composer shows a dim suggestion. The line
 * `• Working (3s • esc to interrupt)` is above it during a turn, but not while an answer arrives: then the screen looks
 * idle, except that the line `Worked for 3s • 15:05`, which ends every turn, is missing.
 */
import { visibleCells, isBlank, lastBlock, withoutSpace, textOf, type Row } from './cells.ts'
import type { Reader, Reading, Screen } from './reader.ts'

/** Column of the first character that a person types. */
const TEXT = 2
/** Rows above the composer that may contain the working sign, its details and queued messages. */
const WORKING_ROWS = 16
/** Includes the elapsed time, because the same words may be part of an answer or a command. */
const WORKING = /^[•◦] .*\((?:\d+[hms] ?)+• esc to interrupt/
const QUESTION =
  /\benter\b.*\b(?:confirm|select|resume|insert|continue)\b|\besc\b.*\b(?:close|cancel|back|exit)\b/i

export const codexScreen: Reader = { read, question: QUESTION }

function read({ rows, cursor_x, cursor_y, cursor_visible }: Screen): Reading | null {
  const top = rows.findLastIndex(isPrompt)
  const around = rows.slice(Math.max(0, top - WORKING_ROWS), top)
  // A dialog hides or moves the cursor; a selection list replaces the composer.
  if (top === -1 || !cursor_visible || cursor_y < top) return null
  const typed = composerRows(rows, top, cursor_y)
  if (typed === null) return null
  const above = rows.slice(0, top)
  const has_ended = hasEnded(above)
  const reading = {
    draft: withoutSpace(typed.map(textOf).join('')),
    transcript: withoutSpace(above.map(textOf).join('')),
    ended: has_ended || isNewSession(above),
    interrupted: lastBlock(above)
      .slice(0, 1)
      .some((row) => INTERRUPTED.test(textOf(row))),
  }
  // A running turn has its sign last, so a sign above the end of a turn is only quoted text.
  if (!has_ended && around.some((row) => WORKING.test(textOf(row)))) return { ...reading, state: 'busy' }
  const below = rows.slice(top + typed.length)
  if (below.some((row) => QUESTION.test(textOf(row)))) return { ...reading, state: 'dialog' }
  if (rows[top]?.[0]?.char === '!') return { ...reading, draft: `!${reading.draft}`, state: 'draft' }
  const visible = typed.flatMap(visibleCells)
  const is_suggestion = visible.length > 0 && visible.every(({ dim }) => dim)
  if (!is_suggestion) return { ...reading, state: 'draft' }
  const at_start = cursor_y === top && cursor_x === TEXT
  return { ...reading, draft: '', state: at_start ? 'empty' : 'draft' }
}

const ENDED = /^ {2}Worked for .+ • |^■ /
/** Also shown after a denied request. Other errors begin with the same character. */
const INTERRUPTED = /^■ Conversation interrupted\b/
const BACKGROUND_NOTE = /^ {2}\d+ background terminals? running\b/

/** Whether the conversation ends with the end of a turn. */
function hasEnded(above: readonly Row[]): boolean {
  const last = above.findLast((row) => !isBlank(row) && !BACKGROUND_NOTE.test(textOf(row)))
  return last !== undefined && ENDED.test(textOf(last))
}

const GREETING = /^\s*>_ OpenAI Codex\b/
const MESSAGE = /^[›•■✔◦] /

/** Whether no message follows the visible greeting. Without the greeting a long answer could fill the screen. */
function isNewSession(above: readonly Row[]): boolean {
  const texts = above.map(textOf)
  return texts.some((text) => GREETING.test(text)) && !texts.some((text) => MESSAGE.test(text))
}

/** Earlier messages of a person have the same character, but dim; the selected line of a list is inverse. */
function isPrompt([prompt_char, gap]: Row): boolean {
  if (prompt_char === undefined || (prompt_char.char !== '›' && prompt_char.char !== '!')) return false
  return (
    prompt_char.bold && !prompt_char.dim && !prompt_char.inverse && (gap === undefined || gap.char === ' ')
  )
}

/**
 * Returns the rows of the composer without their indent; null if it is not a composer. A draft may contain empty rows, so
 * it extends to the cursor and to the next empty row after it.
 */
function composerRows(rows: readonly Row[], top: number, cursor_y: number): Row[] | null {
  let end = Math.max(top, cursor_y) + 1
  while (end < rows.length && !isBlank(rows[end] ?? [])) end++
  const further = rows.slice(top + 1, end)
  if (further.some((row) => !/^( {2}|\s*$)/.test(textOf(row)))) return null
  return rows.slice(top, end).map((row) => row.slice(TEXT))
}
