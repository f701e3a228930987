/** Tests the recognition of real clients' screens, captured from the real programs, see `test/fixtures/tmux`. */
import { describe, expect, test } from 'vitest'
import { withoutSpace } from '../../../../adapters/tmux/cells.ts'
import type { ScreenState } from '../../../../adapters/tmux/reader.ts'
import { readScreen, showsBell, type Capture, type TmuxClient } from '../../../../adapters/tmux/screen.ts'
import { drawnScreen, screenNames } from '../../../support/clients/tmux-screens.ts'

const BELL =
  '[turnbell] 3 signals wait (from bob: review.request). Call signals_pending once. (bell 0a1b2c3d)'

const CLIENTS: TmuxClient[] = ['claude-code', 'codex', 'opencode']

/** Expected states of all clients; exceptions are listed below. */
const EXPECTED: Record<string, ScreenState> = {
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
const EXCEPTIONS: Partial<Record<TmuxClient, Record<string, ScreenState>>> = {
  // It looks idle, except for the missing line that ends a turn; see below.
  codex: { answering: 'empty' },
  // In opencode `?` is ordinary text.
  opencode: { shortcuts: 'draft' },
}

describe.each(CLIENTS)('a screen of %s', (client) => {
  const read = (name: string, change: Partial<Capture> = {}) =>
    readScreen(client, { ...drawnScreen(client, name), ...change })

  test.each(screenNames(client))('has the expected state: %s', (name) => {
    expect(read(name).state).toBe(EXCEPTIONS[client]?.[name] ?? EXPECTED[name])
  })

  test.each(['bell-pasted', 'narrow-bell-pasted'])('has exactly the pasted text as draft: %s', (name) => {
    expect(read(name).draft).toBe(withoutSpace(BELL))
  })

  test('has more than the pasted text as draft if a person typed on', () => {
    expect(read('draft-of-two-lines').draft).toBe(withoutSpace(`${BELL} and a second line`))
  })

  test('has an empty draft if only a suggestion is shown', () => {
    for (const name of ['idle', 'narrow', 'cleared']) expect(read(name).draft).toBe('')
  })

  test('shows the doorbell only in the conversation, not in the composer', () => {
    expect(showsBell(read('rung'), BELL)).toBe(true)
    expect(showsBell(read('bell-pasted'), BELL)).toBe(false)
    expect(showsBell(read('rung'), BELL.replace('0a1b2c3d', '0a1b2c3e'))).toBe(false)
  })

  test('is interrupted only after an interrupt or a denied request', () => {
    const names = screenNames(client).filter((name) => read(name).interrupted)
    expect(names).toEqual(['denied', 'interrupted'])
  })

  // Keys go to tmux then, not to the client.
  test('is unknown while a person scrolls in it', () => {
    expect(read('idle', { in_mode: true }).state).toBe('unknown')
  })

  test('is never empty if the cursor is elsewhere', () => {
    const { cursor_x, cursor_y } = drawnScreen(client, 'idle')
    for (const y of [0, cursor_y - 1, cursor_y + 1])
      expect(read('idle', { cursor_y: y }).state).not.toBe('empty')
    for (const x of [cursor_x - 1, cursor_x + 1])
      expect(read('idle', { cursor_x: x }).state).not.toBe('empty')
  })

  test('is never empty if a part of it is missing', () => {
    const { lines, ...cursor } = drawnScreen(client, 'answered')
    for (let kept = 0; kept <= cursor.cursor_y; kept++) {
      expect(readScreen(client, { ...cursor, lines: lines.slice(0, kept) }).state).not.toBe('empty')
    }
  })

  test("is never empty for another client's reader", () => {
    for (const other of CLIENTS.filter((one) => one !== client)) {
      for (const name of screenNames(other)) {
        expect(readScreen(client, drawnScreen(other, name)).state, `${other}: ${name}`).not.toBe('empty')
      }
    }
  })

  test.each([
    ['an empty row', ''],
    ['a prompt of a shell', 'ada@host:~$ '],
    ['a pager at its end', '(END)'],
    ['a question', 'Overwrite it? [y/N] '],
    ['a prompt like the client’s', '❯ '],
    ['another one', '› '],
  ])('is unknown if it shows %s', (_, text) => {
    const capture = { lines: [text], cursor_x: 2, cursor_y: 0, cursor_visible: true, in_mode: false }
    expect(readScreen(client, capture)).toMatchObject({ state: 'unknown', draft: null })
  })
})

describe('a screen of Codex', () => {
  const read = (name: string) => readScreen('codex', drawnScreen('codex', name))

  test('a screen of Codex shows an ended turn only after the answer is complete', () => {
    expect(read('answering').ended).toBe(false)
    for (const name of ['idle', 'answered', 'interrupted', 'rung', 'imitated-prompts'])
      expect(read(name).ended, name).toBe(true)
  })

  // A long answer may fill the screen with indented rows, which does not show an end.
  test('a screen of Codex filled by an answer has no ended turn', () => {
    const { lines, ...cursor } = drawnScreen('codex', 'answering')
    const composer = lines.findLastIndex((line) => line.includes('Ask Codex'))
    const answer = lines.map((line, at) => (at < composer ? '  more text' : line))
    expect(readScreen('codex', { ...cursor, lines: answer })).toMatchObject({ state: 'empty', ended: false })
  })

  test('a screen of Codex with the greeting and a later message has no ended turn', () => {
    const { lines, ...cursor } = drawnScreen('codex', 'narrow')
    expect(readScreen('codex', { ...cursor, lines }).ended).toBe(true)
    const greeting = lines.findIndex((line) => line.includes('permissions'))
    const said = lines.with(greeting + 1, '• thought')
    expect(readScreen('codex', { ...cursor, lines: said }).ended).toBe(false)
  })

  test('a screen of Codex that only quotes the working sign is not busy', () => {
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
    // While the answer arrives there is no end, and the quoted words are not a working sign.
    expect(readScreen('codex', saying(ran, ''))).toMatchObject({ state: 'empty', ended: false })
    expect(readScreen('codex', saying('◦ Thinking (1m 05s • esc to interrupt)', '')).state).toBe('busy')
  })

  // A suggestion is dim; the same words, typed, are a draft.
  test('a draft with the words of the suggestion is a draft', () => {
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
  // Only the colour differs.
  test('a draft with the words of the suggestion is a draft', () => {
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

  test('a screen of Claude Code with a dim suggestion is empty, also under the cursor', () => {
    expect(read(composer('\u001b[7mT\u001b[0;2mry "fix it"\u001b[0m', 2)).state).toBe('empty')
    expect(read(composer('\u001b[7mT\u001b[0mry "fix it"', 2)).state).toBe('draft')
  })

  test('a screen of Claude Code may name its session in the upper rule', () => {
    expect(
      read({ ...composer('', 2), lines: composer('', 2).lines.with(2, `${'─'.repeat(20)} ada ──`) }).state,
    ).toBe('empty')
  })

  test('a screen of Claude Code without colours is busy by its working sign', () => {
    expect(read(composer('', 2, '✻ Pondering… (3s)')).state).toBe('busy')
    expect(read(composer('', 2, '✻ Worked for 3s · done 3:03 PM')).state).toBe('empty')
  })
})
