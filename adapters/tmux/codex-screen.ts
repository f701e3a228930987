/**
 * Codex's screen: a bold `›`, the text, an empty row, hints. An empty composer shows a dim proposal. Above
 * it stands `• Working (3s • esc to interrupt)` while a turn runs, but not while an answer comes in: then
 * the screen looks like one at rest, but for the line `Worked for 3s • 15:05` that ends every turn.
 */
import { inked, isBlank, lastSaid, squeezed, textOf, type Row } from './cells.ts'
import type { Reader, Reading, Screen } from './screen.ts'

/** Column of the first character that a person types. */
const TEXT = 2
/** Between the sign of a turn and the composer: its details, messages that wait. */
const SIGN_ROWS = 16
/** With the clock, which the same words in an answer or a command seldom have. */
const WORKING = /^[•◦] .*\((?:\d+[hms] ?)+• esc to interrupt/
const ASKS =
  /\benter\b.*\b(?:confirm|select|resume|insert|continue)\b|\besc\b.*\b(?:close|cancel|back|exit)\b/i

export const codexScreen: Reader = { read, asks: ASKS }

function read({ rows, cursor_x, cursor_y, cursor_visible }: Screen): Reading | null {
  const top = rows.findLastIndex(isPrompt)
  const around = rows.slice(Math.max(0, top - SIGN_ROWS), top)
  // A dialog hides the cursor or puts it away; a list to choose from takes the place of the composer.
  if (top === -1 || !cursor_visible || cursor_y < top) return null
  const typed = typedFrom(rows, top, cursor_y)
  if (typed === null) return null
  const above = rows.slice(0, top)
  const over = isOver(above)
  const reading = {
    draft: squeezed(typed.map(textOf).join('')),
    transcript: squeezed(above.map(textOf).join('')),
    ended: over || nothingSaid(above),
    interrupted: lastSaid(above)
      .slice(0, 1)
      .some((row) => INTERRUPTED.test(textOf(row))),
  }
  // A turn that runs has its sign last, so what stands above the end of one is only spoken of.
  if (!over && around.some((row) => WORKING.test(textOf(row)))) return { ...reading, state: 'busy' }
  const below = rows.slice(top + typed.length)
  if (below.some((row) => ASKS.test(textOf(row)))) return { ...reading, state: 'dialog' }
  if (rows[top]?.[0]?.char === '!') return { ...reading, draft: `!${reading.draft}`, state: 'draft' }
  const shown = typed.flatMap(inked)
  const proposed = shown.length > 0 && shown.every(({ dim }) => dim)
  if (!proposed) return { ...reading, state: 'draft' }
  const atBeginning = cursor_y === top && cursor_x === TEXT
  return { ...reading, draft: '', state: atBeginning ? 'empty' : 'draft' }
}

const ENDED = /^ {2}Worked for .+ • |^■ /
/** Also after a denied request. Other errors begin with the same sign. */
const INTERRUPTED = /^■ Conversation interrupted\b/
const AFTERWARDS = /^ {2}\d+ background terminals? running\b/

/** The last thing in the conversation is the end of a turn. */
function isOver(above: readonly Row[]): boolean {
  const last = above.findLast((row) => !isBlank(row) && !AFTERWARDS.test(textOf(row)))
  return last !== undefined && ENDED.test(textOf(last))
}

const GREETING = /^\s*>_ OpenAI Codex\b/
const SAID = /^[›•■✔◦] /

/** Below the greeting nothing was said. The greeting must be seen: a long answer fills the screen with rows that bear no sign. */
function nothingSaid(above: readonly Row[]): boolean {
  const texts = above.map(textOf)
  return texts.some((text) => GREETING.test(text)) && !texts.some((text) => SAID.test(text))
}

/** What a person said earlier bears the same sign, but dim; the chosen line of a list is inverse. */
function isPrompt([sign, gap]: Row): boolean {
  if (sign === undefined || (sign.char !== '›' && sign.char !== '!')) return false
  return sign.bold && !sign.dim && !sign.inverse && (gap === undefined || gap.char === ' ')
}

/**
 * Rows of the composer without their indent. A draft may hold empty rows, so everything down to the cursor
 * belongs to it, and then whatever follows without a gap. Null where that is no composer at all.
 */
function typedFrom(rows: readonly Row[], top: number, cursor_y: number): Row[] | null {
  let end = Math.max(top, cursor_y) + 1
  while (end < rows.length && !isBlank(rows[end] ?? [])) end++
  const further = rows.slice(top + 1, end)
  if (further.some((row) => !/^( {2}|\s*$)/.test(textOf(row)))) return null
  return rows.slice(top, end).map((row) => row.slice(TEXT))
}
