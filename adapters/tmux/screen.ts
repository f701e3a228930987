/**
 * Reads a client's state from its screen. Pure: one reader per client, each tested with screens of the real client
 * (`test/fixtures/tmux/`).
 *
 * A reader returns `empty` only if it recognizes the client's composer with the cursor in it, no typed text and no sign of
 * a turn. An unrecognized screen is `unknown`, never `empty`.
 */
import { parseCells, withoutSpace, textOf, type Row } from './cells.ts'
import { claudeScreen } from './claude-screen.ts'
import { codexScreen } from './codex-screen.ts'
import { opencodeScreen } from './opencode-screen.ts'
import type { Reader, Reading } from './reader.ts'
import type { TmuxSettings } from '../../src/contracts/config.ts'

export type TmuxClient = NonNullable<TmuxSettings['client']>

/** The captured screen of a pane. */
export interface Capture {
  /** With colour escapes, as printed by tmux. */
  lines: readonly string[]
  cursor_x: number
  cursor_y: number
  /** False also for Claude Code, which hides the terminal's cursor and draws its own. */
  cursor_visible: boolean
  /** A person scrolls or copies, so keys go to tmux. */
  in_mode: boolean
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
  const rows = parseCells(lines)
  const reader = READERS[client]
  const reading = reader.read({ rows, cursor_x, cursor_y, cursor_visible })
  return reading ?? withoutComposer(rows, reader.question)
}

function withoutComposer(rows: readonly Row[], question: RegExp): Reading {
  const state = rows.some((row) => question.test(textOf(row))) ? 'dialog' : 'unknown'
  const transcript = withoutSpace(rows.map(textOf).join(''))
  return { state, draft: null, transcript, ended: false, interrupted: false }
}

/** Whether the conversation contains the doorbell, which is its receipt. */
export function showsBell(reading: Reading, text: string): boolean {
  return belowBell(reading, text) !== null
}

/** Returns the conversation below the doorbell, without white space; null if it does not contain the doorbell. */
export function belowBell({ transcript }: Reading, text: string): string | null {
  // The end of the text is enough, because it is unique to the doorbell.
  const [mark = text] = /\(bell [^)]*\)$/.exec(text) ?? []
  const at = transcript.lastIndexOf(withoutSpace(mark))
  return at === -1 ? null : transcript.slice(at + withoutSpace(mark).length)
}

/** A complete doorbell text without white space, as `doorbellText` produces it. */
const BELL =
  /^(\[turnbell\](?:1signalwaits|\d+signalswait)\(from[\w.:/-]+\)\.Callsignals_pendingonce\.)\(bell([0-9a-z]+)\)$/

/**
 * Returns the doorbell in the composer. It is recognized by its format, not from memory: otherwise a restarted shim would
 * take a doorbell of its predecessor for a person's draft and never ring again.
 */
export function bellInComposer({ draft }: Reading): string | null {
  const [, words, id] = BELL.exec(draft ?? '') ?? []
  return words === undefined ? null : `${words}(bell ${id})`
}

/** Whether the composer contains a doorbell that was pasted and never entered, and nothing else. */
export const isOwnBell = (reading: Reading): boolean => bellInComposer(reading) !== null
