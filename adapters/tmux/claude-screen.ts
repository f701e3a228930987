/**
 * Claude Code's screen: the composer between two rules, `❯` at its beginning, hints below.
 *
 * The `❯` is grey while a turn runs, also in a pane too narrow for `esc to interrupt` and while somebody
 * types, when that hint is left out. What the agent said is indented, so it cannot draw a composer.
 */
import { inked, isBlank, lastSaid, squeezed, textOf, type Row } from './cells.ts'
import type { Reader, Reading, Screen } from './screen.ts'

/** Column of the first character that a person types. */
const TEXT = 2
const DEFAULT_COLOUR = '39'
/** Below the composer: a status line, the mode, hints. The shortcuts that `?` shows are longer. */
const HINT_ROWS_MAX = 4
/** Above the composer: the sign that works, a tip, a hint at the right. */
const SIGN_ROWS = 10
const RULE = /^─{8,}$/
/** The upper one may bear a name. */
const UPPER_RULE = /^─{4,}.*$/
/** Indented below what was interrupted; what the agent says ends with a row of its own at the left edge. */
const INTERRUPTED = /^ {2}⎿\s+Interrupted · /
const WORKING = /^[·✢✳✶✻✽*] .*…/
const ASKS = /\b(?:esc|enter) to (?:cancel|close|confirm|continue|save|select|exit)\b/i

export const claudeScreen: Reader = { read, asks: ASKS }

function read(screen: Screen): Reading | null {
  const { rows, cursor_x, cursor_y } = screen
  const composer = composerIn(rows)
  if (composer === null) return null
  const { top, bottom, hints } = composer
  const typed = rows.slice(top, bottom).map((row) => row.slice(TEXT))
  const reading = {
    draft: squeezed(typed.map(textOf).join('')),
    transcript: squeezed(rows.slice(0, top).map(textOf).join('')),
    ended: true,
    interrupted: lastSaid(rows.slice(0, top - 1)).some((row) => INTERRUPTED.test(textOf(row))),
  }
  const [sign] = rows[top] ?? []
  // `!` is a command for the shell, whether anything follows it or not.
  const forShell = sign?.char === '!'
  if (isWorking(rows, composer)) return { ...reading, state: 'busy' }
  if (forShell) return { ...reading, draft: `!${reading.draft}`, state: 'draft' }
  if (sign?.colour !== DEFAULT_COLOUR) return { ...reading, state: 'busy' }
  if (hints.length > HINT_ROWS_MAX) return { ...reading, state: 'dialog' }
  if (cursor_y < top || cursor_y >= bottom) return { ...reading, state: 'unknown' }
  if (!isUntouched(typed, cursor_x - TEXT)) return { ...reading, state: 'draft' }
  const atBeginning = cursor_y === top && cursor_x === TEXT
  return { ...reading, draft: '', state: atBeginning ? 'empty' : 'draft' }
}

interface Composer {
  /** Its first row, and the rule below it. */
  top: number
  bottom: number
  hints: readonly Row[]
}

function composerIn(rows: readonly Row[]): Composer | null {
  const bottom = rows.findLastIndex((row) => RULE.test(textOf(row).trimEnd()))
  for (let top = bottom - 1; top > 0; top--) {
    const text = textOf(rows[top] ?? [])
    if (/^[❯!]\s/.test(text) || /^[❯!]$/.test(text)) {
      const above = textOf(rows[top - 1] ?? []).trimEnd()
      const hints = rows.slice(bottom + 1).filter((row) => !isBlank(row))
      return UPPER_RULE.test(above) ? { top, bottom, hints } : null
    }
    // A further line of a draft is indented.
    if (!/^( {2}|$)/.test(text)) return null
  }
  return null
}

function isWorking(rows: readonly Row[], { top, hints }: Composer): boolean {
  if (hints.some((row) => textOf(row).includes('esc to interrupt'))) return true
  return rows.slice(Math.max(0, top - 1 - SIGN_ROWS), top - 1).some((row) => WORKING.test(textOf(row)))
}

/**
 * Nothing but a proposal, which is dim. The cursor is drawn over its first character, which is then
 * inverse; a single character under the cursor is a draft.
 */
function isUntouched(typed: readonly Row[], cursor: number): boolean {
  const first = typed[0] ?? []
  const others = typed.flatMap((row) => inked(row === first ? row.filter((_, at) => at !== cursor) : row))
  if (others.length > 0) return others.every(({ dim }) => dim)
  return isBlank(first)
}
