/**
 * Reads opencode's screen: the composer is a box with `┃` at its left and `╹▀▀▀` below. Its last line names the agent
 * and the model. Before the first message it shows a suggestion in the colour of its hints.
 *
 * A sidebar may be next to the conversation, so only the columns of the box count.
 */
import { visibleCells, isBlank, withoutSpace, textOf, type Row } from './cells.ts'
import type { Reader, Reading, Screen } from './reader.ts'

/** Columns from the edge of the box to the first typed character. */
const INDENT = 3
/** Moving squares during a turn, also if there is no room for `esc interrupt`. */
const WORKING = /[⬝■]{2}|\besc\s+(?:again to )?interrupt/
/** Below every answer; with its duration if the answer was finished. */
const SIGNATURE = /^\s*▣ /
const DURATION = / · (?:\d+(?:\.\d+)?(?:ms|s|m|h|d) ?)+$/
const HINT_ROWS = 4
const QUESTION = /\b(?:enter|⇆|↑↓)\b.*\b(?:confirm|select)\b|\bPermission required\b|\besc\b\s*$/

export const opencodeScreen: Reader = { read, question: QUESTION }

function read({ rows, cursor_x, cursor_y, cursor_visible }: Screen): Reading | null {
  const box = findBox(rows)
  if (box === null) return null
  const { top, bottom, left, right } = box
  const inside = rows.slice(top, bottom).map((row) => row.slice(left + INDENT, right))
  const typed = inside.slice(0, -1)
  const agent = inside.at(-1) ?? []
  const conversation = rows.slice(0, top).map((row) => row.slice(left + 1, right))
  const reading = {
    draft: withoutSpace(typed.map(textOf).join('')),
    transcript: withoutSpace(conversation.map(textOf).join('')),
    ended: true,
    interrupted: isInterrupted(conversation),
  }
  const hints = rows.slice(bottom + 1, bottom + 1 + HINT_ROWS)
  if (hints.some((row) => WORKING.test(textOf(row)))) return { ...reading, state: 'busy' }
  const first_text_row = typed.findIndex((row) => !isBlank(row))
  const first = top + (first_text_row === -1 ? 1 : first_text_row)
  const in_box = cursor_y >= top && cursor_y < bottom - 1 && cursor_x >= left + INDENT && cursor_x < right
  if (!cursor_visible || !in_box) return { ...reading, state: 'dialog' }
  // In shell mode the name of the model is missing.
  const separator = agent.find(({ char }) => char === '·')
  if (separator === undefined) return { ...reading, draft: `!${reading.draft}`, state: 'draft' }
  const visible = typed.flatMap(visibleCells)
  const is_suggestion =
    visible.every(({ colour }) => colour === separator.colour) &&
    (visible.length === 0 || reading.draft.startsWith('Askanything'))
  if (!is_suggestion) return { ...reading, state: 'draft' }
  const at_start = cursor_y === first && cursor_x === left + INDENT
  return { ...reading, draft: '', state: at_start ? 'empty' : 'draft' }
}

/** A denied request is struck out, and its answer has no duration. */
function isInterrupted(conversation: readonly Row[]): boolean {
  const [denied = [], signed = []] = conversation.filter((row) => !isBlank(row)).slice(-2)
  const signature = textOf(signed).trimEnd()
  if (!SIGNATURE.test(signature) || DURATION.test(signature)) return false
  return signature.endsWith(' · interrupted') || visibleCells(denied).every(({ struck }) => struck)
}

interface Box {
  /** Index of its first row, and of its lower edge. */
  top: number
  bottom: number
  left: number
  /** The column after its last one. */
  right: number
}

function findBox(rows: readonly Row[]): Box | null {
  const bottom = rows.findLastIndex((row) => /^\s*╹▀{4}/.test(textOf(row)))
  if (bottom === -1) return null
  const edge = textOf(rows[bottom] ?? [])
  const left = edge.indexOf('╹')
  const right = left + 1 + (/^▀+/.exec(edge.slice(left + 1))?.[0].length ?? 0)
  let top = bottom
  while (top > 0 && rows[top - 1]?.[left]?.char === '┃') top--
  // Minimum: an empty row, the text, an empty row, the agent.
  return bottom - top >= 4 ? { top, bottom, left, right } : null
}
