/**
 * What the screens of real clients are taken for. They were captured from the real programs, see `test/fixtures/tmux`.
 */
import { describe, expect, test } from 'vitest'
import { squeezed } from '../../../adapters/tmux/cells.ts'
import {
  readScreen,
  showsBell,
  type Capture,
  type ScreenState,
  type TmuxClient,
} from '../../../adapters/tmux/screen.ts'
import { drawnScreen, screenNames } from '../../support/tmux-screens.ts'

const BELL =
  '[turnbell] 3 signals wait (from bob: review.request). Call signals_pending once. (bell 0a1b2c3d)'

const CLIENTS: TmuxClient[] = ['claude-code', 'codex', 'opencode']

/** The same for every client; what one shows otherwise stands below. */
const SHOWN: Record<string, ScreenState> = {
  idle: 'empty',
  answered: 'empty',
  interrupted: 'empty',
  denied: 'empty',
  cleared: 'empty',
  rung: 'empty',
  narrow: 'empty',
  'imitated-prompts': 'empty',
  draft: 'draft',
  'draft-of-two-lines': 'draft',
  'draft-cursor-at-start': 'draft',
  'draft-of-one-under-cursor': 'draft',
  'narrow-draft': 'draft',
  'bell-pasted': 'draft',
  'narrow-bell-pasted': 'draft',
  'command-list': 'draft',
  'mention-list': 'draft',
  'shell-mode': 'draft',
  shortcuts: 'dialog',
  thinking: 'busy',
  'thinking-with-draft': 'busy',
  'narrow-thinking': 'busy',
  'narrow-thinking-with-draft': 'busy',
  'tool-running': 'busy',
  answering: 'busy',
  permission: 'dialog',
  'narrow-permission': 'dialog',
  'model-list': 'dialog',
  'session-list': 'dialog',
  'copy-mode': 'unknown',
  trust: 'dialog',
  rewind: 'dialog',
  browsing: 'dialog',
}
const OTHERWISE: Partial<Record<TmuxClient, Record<string, ScreenState>>> = {
  // It looks like one at rest, but for the line that ends a turn; see below.
  codex: { answering: 'empty' },
  // There `?` is text like any other.
  opencode: { shortcuts: 'draft' },
}

describe.each(CLIENTS)('a screen of %s', (client) => {
  const read = (name: string, change: Partial<Capture> = {}) =>
    readScreen(client, { ...drawnScreen(client, name), ...change })

  test.each(screenNames(client))('is understood: %s', (name) => {
    expect(read(name).state).toBe(OTHERWISE[client]?.[name] ?? SHOWN[name])
  })

  test.each(['bell-pasted', 'narrow-bell-pasted'])('shows exactly what was pasted: %s', (name) => {
    expect(read(name).draft).toBe(squeezed(BELL))
  })

  test('shows more than what was pasted, where somebody typed on', () => {
    expect(read('draft-of-two-lines').draft).toBe(squeezed(`${BELL} and a second line`))
  })

  test('shows nothing typed where only a proposal stands', () => {
    for (const name of ['idle', 'narrow', 'cleared']) expect(read(name).draft).toBe('')
  })

  test('gives a receipt once the bell stands in the conversation, and not while it stands in the composer', () => {
    expect(showsBell(read('rung'), BELL)).toBe(true)
    expect(showsBell(read('bell-pasted'), BELL)).toBe(false)
    expect(showsBell(read('rung'), BELL.replace('0a1b2c3d', '0a1b2c3e'))).toBe(false)
  })

  test('says that a person interrupted the turn, or denied what it asked for, and no other says so', () => {
    const said = screenNames(client).filter((name) => read(name).interrupted)
    expect(said).toEqual(['denied', 'interrupted'])
  })

  // What is under a mouse or a key of tmux is no longer the client's.
  test('is unknown while a person scrolls in it, whatever it shows', () => {
    expect(read('idle', { in_mode: true }).state).toBe('unknown')
  })

  test('is never empty where the cursor stands elsewhere', () => {
    const { cursor_x, cursor_y } = drawnScreen(client, 'idle')
    for (const y of [0, cursor_y - 1, cursor_y + 1])
      expect(read('idle', { cursor_y: y }).state).not.toBe('empty')
    for (const x of [cursor_x - 1, cursor_x + 1])
      expect(read('idle', { cursor_x: x }).state).not.toBe('empty')
  })

  test('is never empty where a part of it is missing', () => {
    const { lines, ...cursor } = drawnScreen(client, 'answered')
    for (let kept = 0; kept <= cursor.cursor_y; kept++) {
      expect(readScreen(client, { ...cursor, lines: lines.slice(0, kept) }).state).not.toBe('empty')
    }
  })

  test('of another client is never empty', () => {
    for (const other of CLIENTS.filter((one) => one !== client)) {
      for (const name of screenNames(other)) {
        expect(readScreen(client, drawnScreen(other, name)).state, `${other}: ${name}`).not.toBe('empty')
      }
    }
  })

  test.each([
    ['nothing at all', ''],
    ['a prompt of a shell', 'ada@host:~$ '],
    ['a pager at its end', '(END)'],
    ['a question', 'Overwrite it? [y/N] '],
    ['a prompt like the client’s', '❯ '],
    ['another one', '› '],
  ])('that shows %s is unknown', (_, text) => {
    const capture = { lines: [text], cursor_x: 2, cursor_y: 0, cursor_visible: true, in_mode: false }
    expect(readScreen(client, capture)).toMatchObject({ state: 'unknown', draft: null })
  })
})

describe('a screen of Codex', () => {
  const read = (name: string) => readScreen('codex', drawnScreen('codex', name))

  test('tells the end of a turn from an answer that is still coming in', () => {
    expect(read('answering').ended).toBe(false)
    for (const name of ['idle', 'answered', 'interrupted', 'rung', 'imitated-prompts'])
      expect(read(name).ended, name).toBe(true)
  })

  // The rows of a long answer are indented, and nothing else is left on the screen. That is no sign of an end.
  test('takes a screenful of an answer for no turn that has ended', () => {
    const { lines, ...cursor } = drawnScreen('codex', 'answering')
    const composer = lines.findLastIndex((line) => line.includes('Ask Codex'))
    const answer = lines.map((line, at) => (at < composer ? '  more text' : line))
    expect(readScreen('codex', { ...cursor, lines: answer })).toMatchObject({ state: 'empty', ended: false })
  })

  test('has ended no turn where what greets stands above, but something was said since', () => {
    const { lines, ...cursor } = drawnScreen('codex', 'narrow')
    expect(readScreen('codex', { ...cursor, lines }).ended).toBe(true)
    const greeting = lines.findIndex((line) => line.includes('permissions'))
    const said = lines.with(greeting + 1, '• thought')
    expect(readScreen('codex', { ...cursor, lines: said }).ended).toBe(false)
  })

  test('is not busy where Codex only speaks of the sign', () => {
    const { lines, ...cursor } = drawnScreen('codex', 'answered')
    const composer = lines.findLastIndex((line) => line.includes('Ask Codex'))
    const ends = '\u001b[2m  Worked for 3s • 15:05\u001b[0m'
    const saying = (said: string, below: string) => ({
      ...cursor,
      lines: lines.with(composer - 4, said).with(composer - 3, below),
    })
    const [ran, quoted] = ['• Ran rg "esc to interrupt"', '• It says (3s • esc to interrupt).']
    for (const said of [ran, quoted])
      expect(readScreen('codex', saying(said, ends)), said).toMatchObject({ state: 'empty', ended: true })
    // While its answer comes in no end is to be seen, and the words are no sign of a turn either.
    expect(readScreen('codex', saying(ran, ''))).toMatchObject({ state: 'empty', ended: false })
    expect(readScreen('codex', saying('◦ Thinking (1m 05s • esc to interrupt)', '')).state).toBe('busy')
  })

  // A proposal is dim. The same words, typed, are a draft.
  test('knows a draft that reads like the proposal', () => {
    const capture = drawnScreen('codex', 'idle')
    const lines = capture.lines.map((line) => line.replace('\u001b[2mAsk Codex', 'Ask Codex'))
    expect(lines).not.toEqual(capture.lines)
    expect(readScreen('codex', { ...capture, lines })).toMatchObject({
      state: 'draft',
      draft: 'AskCodextodoanything',
    })
  })
})

describe('a screen of opencode', () => {
  // Here only the colour tells them apart.
  test('knows a draft that reads like the proposal', () => {
    const capture = drawnScreen('opencode', 'idle')
    const lines = capture.lines.map((line) =>
      line.replace('\u001b[38;5;8mAsk anything', '\u001b[38;5;255mAsk anything'),
    )
    expect(lines).not.toEqual(capture.lines)
    expect(readScreen('opencode', { ...capture, lines }).state).toBe('draft')
  })
})

describe('a screen of Claude Code', () => {
  const RULE = '─'.repeat(40)
  const composer = (text: string, cursor_x: number, above = '') => ({
    lines: ['a conversation', above, RULE, `❯\u00a0${text}`, RULE, '  ? for shortcuts'],
    ...{ cursor_x, cursor_y: 3, cursor_visible: false, in_mode: false },
  })
  const read = (capture: Capture) => readScreen('claude-code', capture)

  test('knows a proposal by its being dim, also under the cursor', () => {
    expect(read(composer('\u001b[7mT\u001b[0;2mry "fix it"\u001b[0m', 2)).state).toBe('empty')
    expect(read(composer('\u001b[7mT\u001b[0mry "fix it"', 2)).state).toBe('draft')
  })

  test('may name its session in the rule above', () => {
    expect(
      read({ ...composer('', 2), lines: composer('', 2).lines.with(2, `${'─'.repeat(20)} ada ──`) }).state,
    ).toBe('empty')
  })

  test('is busy by the sign above, where the grey of the prompt is not to be had', () => {
    expect(read(composer('', 2, '✻ Pondering… (3s)')).state).toBe('busy')
    expect(read(composer('', 2, '✻ Worked for 3s · done 3:03 PM')).state).toBe('empty')
  })
})
