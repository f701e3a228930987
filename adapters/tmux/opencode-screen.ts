/**
 * opencode's screen: the composer is a box with a `┃` at its left and a `╹▀▀▀` below. Its last line names
 * the agent and the model. Before the first message it shows a proposal in the colour of its hints.
 *
 * Beside the conversation there may be a column of other things, so only the columns of the box count.
 */
import { inked, isBlank, squeezed, textOf, type Row } from './cells.ts'
import type { Reader, Reading, Screen } from './screen.ts'

/** From the edge of the box to the first character that a person types. */
const INDENT = 3
/** Squares run to and fro while a turn runs, also where there is no room for `esc interrupt`. */
const WORKING = /[⬝■]{2}|\besc\s+(?:again to )?interrupt/
/** Below every answer, with how long it took where it was finished. */
const SIGNED = /^\s*▣ /
const TOOK = / · (?:\d+(?:\.\d+)?(?:ms|s|m|h|d) ?)+$/
const HINT_ROWS = 4
const ASKS = /\b(?:enter|⇆|↑↓)\b.*\b(?:confirm|select)\b|\bPermission required\b|\besc\b\s*$/

export const opencodeScreen: Reader = { read, asks: ASKS }

function read({ rows, cursor_x, cursor_y, cursor_visible }: Screen): Reading | null {
  const box = boxIn(rows)
  if (box === null) return null
  const { top, bottom, left, right } = box
  const inside = rows.slice(top, bottom).map((row) => row.slice(left + INDENT, right))
  const typed = inside.slice(0, -1)
  const agent = inside.at(-1) ?? []
  const conversation = rows.slice(0, top).map((row) => row.slice(left + 1, right))
  const reading = {
    draft: squeezed(typed.map(textOf).join('')),
    transcript: squeezed(conversation.map(textOf).join('')),
    ended: true,
    interrupted: isInterrupted(conversation),
  }
  const hints = rows.slice(bottom + 1, bottom + 1 + HINT_ROWS)
  if (hints.some((row) => WORKING.test(textOf(row)))) return { ...reading, state: 'busy' }
  const begins = typed.findIndex((row) => !isBlank(row))
  const first = top + (begins === -1 ? 1 : begins)
  const inBox = cursor_y >= top && cursor_y < bottom - 1 && cursor_x >= left + INDENT && cursor_x < right
  if (!cursor_visible || !inBox) return { ...reading, state: 'dialog' }
  // For the shell there is no model, so its name is missing.
  const separator = agent.find(({ char }) => char === '·')
  if (separator === undefined) return { ...reading, draft: `!${reading.draft}`, state: 'draft' }
  const shown = typed.flatMap(inked)
  const proposed =
    shown.every(({ colour }) => colour === separator.colour) &&
    (shown.length === 0 || reading.draft.startsWith('Askanything'))
  if (!proposed) return { ...reading, state: 'draft' }
  const atBeginning = cursor_y === first && cursor_x === left + INDENT
  return { ...reading, draft: '', state: atBeginning ? 'empty' : 'draft' }
}

/** What a person denied is struck out, and the answer that asked for it has no end. */
function isInterrupted(conversation: readonly Row[]): boolean {
  const [denied = [], signed = []] = conversation.filter((row) => !isBlank(row)).slice(-2)
  const signature = textOf(signed).trimEnd()
  if (!SIGNED.test(signature) || TOOK.test(signature)) return false
  return signature.endsWith(' · interrupted') || inked(denied).every(({ struck }) => struck)
}

interface Box {
  /** Its first row, and the row of its lower edge. */
  top: number
  bottom: number
  left: number
  /** The column after its last. */
  right: number
}

function boxIn(rows: readonly Row[]): Box | null {
  const bottom = rows.findLastIndex((row) => /^\s*╹▀{4}/.test(textOf(row)))
  if (bottom === -1) return null
  const edge = textOf(rows[bottom] ?? [])
  const left = edge.indexOf('╹')
  const right = left + 1 + (/^▀+/.exec(edge.slice(left + 1))?.[0].length ?? 0)
  let top = bottom
  while (top > 0 && rows[top - 1]?.[left]?.char === '┃') top--
  // An empty row, the text, an empty row, the agent.
  return bottom - top >= 4 ? { top, bottom, left, right } : null
}
