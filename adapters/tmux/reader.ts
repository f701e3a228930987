/** The input and the result of a screen reader. Each client has a reader of its own. */
import type { Row } from './cells.ts'

/**
 * - `empty`: at the prompt without typed text.
 * - `draft`: at the prompt with typed text.
 * - `busy`: a turn runs.
 * - `dialog`: shows a question or a selection list.
 * - `unknown`: anything else.
 */
export type ScreenState = 'empty' | 'draft' | 'dialog' | 'busy' | 'unknown'

export interface Reading {
  state: ScreenState
  /** Text of the composer without white space; null if no composer is visible. */
  draft: string | null
  /** Text above the composer without white space. */
  transcript: string
  /**
   * At an empty prompt: the screen shows that no turn runs. Codex shows no sign of a turn while its answer arrives, so
   * its prompt alone proves nothing.
   */
  ended: boolean
  /** The conversation ends with an interrupt or a denied request by a person. */
  interrupted: boolean
}

/** The input of a reader. */
export interface Screen {
  rows: readonly Row[]
  cursor_x: number
  cursor_y: number
  cursor_visible: boolean
}

/** Reads the screens of one client. */
export interface Reader {
  /** Returns null if no composer is visible. */
  read(screen: Screen): Reading | null
  /** Matches a row of a question when no composer is visible. */
  question: RegExp
}
