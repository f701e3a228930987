/**
 * Reads Claude Code's screen: the composer between two rules, starting with `❯`, hints below.
 *
 * The `❯` is grey while a turn runs, also if the hint `esc to interrupt` is missing, in a narrow pane or while a person
 * types. The agent's text is indented, so it cannot imitate a composer.
 */
import { visibleCells, isBlank, lastBlock, withoutSpace, textOf, type Row } from './cells.ts'
import type { Reader, Reading, Screen } from './reader.ts'

/** Column of the first character that a person types. */
const TEXT = 2
const DEFAULT_COLOUR = '39'
/** Maximum rows below the composer: a status line, the mode, hints. The list of shortcuts (`?`) is longer. */
const HINT_ROWS_MAX = 4
/** Rows above the composer that may contain the working sign, a tip and a hint at the right. */
const WORKING_ROWS = 10
const RULE = /^─{8,}$/
/** The upper rule may contain a name. */
const UPPER_RULE = /^─{4,}.*$/
/** Indented below an interrupted block; text of the agent ends with a row of its own at the left edge. */
const INTERRUPTED = /^ {2}⎿\s+Interrupted · /
const WORKING = /^[·✢✳✶✻✽*] .*…/
const QUESTION = /\b(?:esc|enter) to (?:cancel|close|confirm|continue|save|select|exit)\b/i

export const claudeScreen: Reader = { read, question: QUESTION }

function read(screen: Screen): Reading | null {
  const { rows, cursor_x, cursor_y } = screen
  const composer = findComposer(rows)
  if (composer === null) return null
  const { top, bottom, hints } = composer
  const typed = rows.slice(top, bottom).map((row) => row.slice(TEXT))
  const reading = {
    draft: withoutSpace(typed.map(textOf).join('')),
    transcript: withoutSpace(rows.slice(0, top).map(textOf).join('')),
    ended: true,
    interrupted: lastBlock(rows.slice(0, top - 1)).some((row) => INTERRUPTED.test(textOf(row))),
  }
  const [prompt_char] = rows[top] ?? []
  // `!` starts a shell command, even without further text.
  const is_shell = prompt_char?.char === '!'
  if (isWorking(rows, composer)) return { ...reading, state: 'busy' }
  if (is_shell) return { ...reading, draft: `!${reading.draft}`, state: 'draft' }
  if (prompt_char?.colour !== DEFAULT_COLOUR) return { ...reading, state: 'busy' }
  if (hints.length > HINT_ROWS_MAX) return { ...reading, state: 'dialog' }
  if (cursor_y < top || cursor_y >= bottom) return { ...reading, state: 'unknown' }
  if (!isUntouched(typed, cursor_x - TEXT)) return { ...reading, state: 'draft' }
  const at_start = cursor_y === top && cursor_x === TEXT
  return { ...reading, draft: '', state: at_start ? 'empty' : 'draft' }
}

interface Composer {
  /** Index of its first row, and of the rule below it. */
  top: number
  bottom: number
  hints: readonly Row[]
}

function findComposer(rows: readonly Row[]): Composer | null {
  const bottom = rows.findLastIndex((row) => RULE.test(textOf(row).trimEnd()))
  for (let top = bottom - 1; top > 0; top--) {
    const text = textOf(rows[top] ?? [])
    if (/^[❯!]\s/.test(text) || /^[❯!]$/.test(text)) {
      const above = textOf(rows[top - 1] ?? []).trimEnd()
      const hints = rows.slice(bottom + 1).filter((row) => !isBlank(row))
      return UPPER_RULE.test(above) ? { top, bottom, hints } : null
    }
    // Further lines of a draft are indented.
    if (!/^( {2}|$)/.test(text)) return null
  }
  return null
}

function isWorking(rows: readonly Row[], { top, hints }: Composer): boolean {
  if (hints.some((row) => textOf(row).includes('esc to interrupt'))) return true
  return rows.slice(Math.max(0, top - 1 - WORKING_ROWS), top - 1).some((row) => WORKING.test(textOf(row)))
}

/**
 * Whether the composer contains no typed text, at most a dim suggestion. The cursor covers the suggestion's first
 * character, which is then inverse; a single character under the cursor is a draft.
 */
function isUntouched(typed: readonly Row[], cursor: number): boolean {
  const first = typed[0] ?? []
  const others = typed.flatMap((row) =>
    visibleCells(row === first ? row.filter((_, at) => at !== cursor) : row),
  )
  if (others.length > 0) return others.every(({ dim }) => dim)
  return isBlank(first)
}
