/** A fake tmux pane that runs Claude Code or Codex; the test controls the client and the user. */
import { PaneGoneError, type Look, type Pane } from '../../../adapters/tmux/pane.ts'
import type { TmuxClient } from '../../../adapters/tmux/screen.ts'
import type { PlaceMode } from '../../suites/surface.suite.ts'
import type { FakeClock } from './fake-clock.ts'

const RULE = '─'.repeat(80)

export interface FakePane {
  mode: PlaceMode
  pane_id: string
  /** The program's name in tmux. */
  command: string
  client: TmuxClient | null
  transcript: string[]
  draft: string
  busy: boolean
  /** Dialog shown in place of the composer. */
  dialog: string | null
  in_mode: boolean
  /** Texts submitted to the composer, in order. */
  entered: string[]
  /** Texts typed into anything else than the composer. */
  astray: string[]
  /** Whether a submitted text does not start a turn immediately. */
  begins_late: boolean
  /** Number of times that the pane was looked up again. */
  forgotten: number
  /** Called just before tmux checks that the pane is unchanged. */
  beforeTyping: (what: 'paste' | 'enter') => unknown
  /** Called when pasted text is in the composer. */
  pasted: () => unknown
  pane: Pane
}

export function fakePane(clock: FakeClock): FakePane {
  const world: FakePane = {
    mode: 'takes',
    pane_id: '%0',
    command: 'claude',
    client: 'claude-code',
    transcript: [],
    draft: '',
    busy: false,
    dialog: null,
    in_mode: false,
    entered: [],
    astray: [],
    begins_late: false,
    forgotten: 0,
    beforeTyping: () => {},
    pasted: () => {},

    pane: {
      async look(): Promise<Look> {
        if (world.mode === 'gone') throw new PaneGoneError("can't find pane: %0")
        if (world.mode === 'breaks') throw new Error('tmux gave no answer')
        const lines = [...world.transcript, '', ...(world.dialog === null ? composer() : [world.dialog])]
        const cursor_y = world.dialog === null ? lines.length - 3 : lines.length - 1
        const { pane_id, command, in_mode } = world
        return {
          ...{ pane_id, pane_pid: 42, tty: '/dev/pts/7', command, lines, cursor_y, in_mode },
          ...{ cursor_x: 2 + world.draft.length, cursor_visible: world.client === 'codex' },
        }
      },
      forget: () => void (world.forgotten += 1),
      client: async () => world.client,
      async paste(text, seen) {
        world.beforeTyping('paste')
        if (!(await asSeen(seen))) return false
        if (world.mode === 'swallows') return true
        if (world.mode === 'delays') clock.after(1_000, () => arrives(text))
        else arrives(text)
        return true
      },
      async enter(seen) {
        world.beforeTyping('enter')
        if (!(await asSeen(seen))) return false
        if (world.dialog !== null) world.astray.push('Enter')
        else submit()
        return true
      },
    },
  }

  function composer(): string[] {
    if (world.client === 'codex') return codexComposer()
    const sign = world.busy ? '\u001b[38;5;246m❯\u001b[39m' : '\u001b[39m❯'
    return [RULE, `${sign}\u00a0${world.draft}`, RULE, '  ? for shortcuts']
  }
  function codexComposer(): string[] {
    const working = world.busy ? ['• Working (1s • esc to interrupt)'] : []
    const typed = world.draft === '' ? '\u001b[2mAsk Codex to do anything\u001b[0m' : world.draft
    return [...working, '', `\u001b[1m›\u001b[0m ${typed}`, '', '  ? for shortcuts']
  }
  async function asSeen(seen: Look): Promise<boolean> {
    const now = await world.pane.look()
    return now.cursor_x === seen.cursor_x && now.cursor_y === seen.cursor_y && now.in_mode === seen.in_mode
  }
  function arrives(text: string): void {
    if (world.dialog !== null) return void world.astray.push(text)
    world.draft += text
    world.pasted()
  }
  function submit(): void {
    const text = world.draft
    world.entered.push(text)
    world.draft = ''
    world.busy = !world.begins_late
    world.transcript.push(...(world.mode === 'duplicates' ? [`❯ ${text}`, `❯ ${text}`] : [`❯ ${text}`]))
  }
  return world
}
