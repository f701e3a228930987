/**
 * What a client's screen says of it. Pure: one reader per client, each tried on screens that the real
 * client drew (`test/fixtures/tmux/`).
 *
 * A reader says `empty` only where it recognises everything that it needs: the client's own composer, the
 * cursor in it, nothing typed, no sign of a turn. A screen that is new to it is `unknown`, never `empty`.
 */
import { cellsOf, squeezed, textOf, type Row } from './cells.ts'
import { claudeScreen } from './claude-screen.ts'
import { codexScreen } from './codex-screen.ts'
import { opencodeScreen } from './opencode-screen.ts'
import type { TmuxSettings } from '../../src/contracts/config.ts'

export type TmuxClient = NonNullable<TmuxSettings['client']>

/** One look at a pane. */
export interface Capture {
  /** With the escapes of colours, as tmux prints them. */
  lines: readonly string[]
  cursor_x: number
  cursor_y: number
  /** Claude Code hides the terminal's cursor and draws its own. */
  cursor_visible: boolean
  /** A person scrolls or copies; what is typed now goes to tmux. */
  in_mode: boolean
}

/**
 * - `empty`: stands at its prompt, and nothing is typed.
 * - `draft`: stands at its prompt, and somebody has typed something.
 * - `busy`: a turn runs.
 * - `dialog`: asks something, or shows a list to choose from.
 * - `unknown`: anything else.
 */
export type ScreenState = 'empty' | 'draft' | 'dialog' | 'busy' | 'unknown'

export interface Reading {
  state: ScreenState
  /** What stands in the composer, without its white space; null where there is no composer to be seen. */
  draft: string | null
  /** What stands above the composer, without its white space. */
  transcript: string
  /**
   * At an empty prompt: the screen shows that no turn runs. Codex shows nothing of a turn while its answer
   * comes in, so there a prompt alone proves nothing.
   */
  ended: boolean
  /** The last thing in the conversation is that a person interrupted the turn, or denied what it asked for. */
  interrupted: boolean
}

/** What a reader works on. */
export interface Screen {
  rows: readonly Row[]
  cursor_x: number
  cursor_y: number
  cursor_visible: boolean
}

/** What is known of one client's screen. */
export interface Reader {
  /** Null where no composer is to be seen. */
  read(screen: Screen): Reading | null
  /** Stands on the screen then where the client asks something. */
  asks: RegExp
}

const READERS: Record<TmuxClient, Reader> = {
  'claude-code': claudeScreen,
  codex: codexScreen,
  opencode: opencodeScreen,
}

export function readScreen(client: TmuxClient, capture: Capture): Reading {
  if (capture.in_mode)
    return { state: 'unknown', draft: null, transcript: '', ended: false, interrupted: false }
  const { lines, cursor_x, cursor_y, cursor_visible } = capture
  const rows = cellsOf(lines)
  const reader = READERS[client]
  const reading = reader.read({ rows, cursor_x, cursor_y, cursor_visible })
  return reading ?? withoutComposer(rows, reader.asks)
}

function withoutComposer(rows: readonly Row[], asks: RegExp): Reading {
  const state = rows.some((row) => asks.test(textOf(row))) ? 'dialog' : 'unknown'
  const transcript = squeezed(rows.map(textOf).join(''))
  return { state, draft: null, transcript, ended: false, interrupted: false }
}

/** The bell stands in the conversation: the agent was told. */
export function showsBell(reading: Reading, text: string): boolean {
  return belowBell(reading, text) !== null
}

/** What the conversation shows below the bell, without white space; null where it does not show the bell. */
export function belowBell({ transcript }: Reading, text: string): string | null {
  // The end of it is enough, and it is the part that no other bell has.
  const [mark = text] = /\(bell [^)]*\)$/.exec(text) ?? []
  const at = transcript.lastIndexOf(squeezed(mark))
  return at === -1 ? null : transcript.slice(at + squeezed(mark).length)
}
