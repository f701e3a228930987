/**
 * A pane of a tmux server: looks at it, and types into it.
 *
 * A name such as `work:0.1` says where a pane stands, and panes move up where another one closes. So a name is
 * asked for once, and the pane that it meant then is known by its number from there on.
 *
 * Nothing is typed on the strength of an earlier look. tmux handles one command after the other, so it
 * checks by itself, in the same step, that the pane still stands as it was seen: the cursor, the program,
 * no copy mode. What the client has not drawn yet nobody outside it can know; decision 11 says what remains.
 */
import { clientInForeground, PROCESS_FIELDS, processesIn } from './foreground.ts'
import type { Capture, TmuxClient } from './screen.ts'
import type { TmuxSettings } from '../../src/contracts/config.ts'

/** One look: the screen, and whose it is. */
export interface Look extends Capture {
  /** The pane by its lasting name, however it was asked for. */
  pane_id: string
  pane_pid: number
  tty: string
  /** The program as tmux names it. */
  command: string
}

export interface Pane {
  /** Throws `PaneGone` where there is none, or a plain error where tmux did not answer. */
  look(): Promise<Look>
  /** The client that holds the pane; null where another program does. Throws as `look` does. */
  client(look: Look): Promise<TmuxClient | null>
  /** The next look finds out anew which pane is meant. */
  forget(): void
  /** Pastes as a terminal does. False, and nothing is typed, where the pane is not as it was seen. */
  paste(text: string, seen: Look): Promise<boolean>
  /** Presses Enter once. False, and nothing is pressed, where the pane is not as it was seen, or shows no `mark`. */
  enter(seen: Look, mark: string): Promise<boolean>
}

export class PaneGone extends Error {}

/** Runs a program that answers at once. */
export type Ask = (
  program: string,
  args: readonly string[],
) => Promise<{ code: number | null; stdout: string; stderr: string }>

const GONE =
  /can't find|no server running|error connecting|no such (?:session|window|pane)|lost server|server exited/i
/** Keys of a person do not reach the program: copy mode, a pane without input, or they reach others too. */
const HELD = '#{?pane_in_mode,1,0}#{?pane_synchronized,1,0}#{?pane_input_off,1,0}'
/** Tells a server from one that was started later on the same socket. */
const SERVER = '#{start_time}:#{pid}'
const LOOK = [
  '#{pane_id}',
  '#{pane_pid}',
  '#{?pane_dead,1,0}',
  '#{cursor_x}',
  '#{cursor_y}',
  '#{?cursor_flag,1,0}',
  HELD,
  SERVER,
  '#{pane_tty}',
  '#{pane_current_command}',
].join(' ')
const LOOKED = /^(%\d+) (\d+) ([01]) (\d+) (\d+) ([01]) ([01]{3}) (\d+:\d+) (\S+) (.*)$/

/** One pane and no other, as long as nothing moves. Without its number it is the one that is in front. */
const PLACE = /^[^%:][^:]*:.+\.\d+$/
const BIND_ANEW = '`turnbell resume --persona NAME` takes the one that has the name now'

interface Found extends Look {
  server: string
  dead: boolean
}

/** Commands of tmux around a condition. */
interface Step {
  /** What must stand on the screen. */
  marks?: readonly string[]
  /** Its words, with the `;` that ends it. */
  before?: readonly string[]
  type: string
  otherwise?: readonly string[]
}

export function tmuxPane({ pane, socket, client }: TmuxSettings, ask: Ask): Pane {
  /** The pane that the first look found, and its server. */
  let bound: Pick<Found, 'server' | 'pane_id'> | null = null

  async function tmux(...args: string[]): Promise<string> {
    const { code, stdout, stderr } = await ask('tmux', socket === undefined ? args : ['-S', socket, ...args])
    if (code === 0) return stdout
    const complaint = stderr.trim()
    if (code !== null && GONE.test(complaint)) throw new PaneGone(complaint)
    throw new Error(complaint || 'tmux gave no answer')
  }

  /** Types it if the pane is as it was seen. All of it is one step of the server, in which nobody else has a turn. */
  async function ifAsSeen(
    seen: Look,
    { marks = [], before = [], type, otherwise = [] }: Step,
  ): Promise<boolean> {
    const answer = await tmux(
      ...before,
      ...['if-shell', '-F', '-t', seen.pane_id, asSeen(seen, marks)],
      `${type} ; display-message -p typed`,
      [...otherwise, 'display-message -p held'].join(' ; '),
    )
    return answer.trim() === 'typed'
  }

  async function find(target: string): Promise<Found> {
    const output = await tmux(
      ...['display-message', '-p', '-t', target, LOOK, ';'],
      ...['capture-pane', '-p', '-e', '-t', target],
    )
    const [head = '', ...lines] = output.split('\n')
    const [, pane_id, pid, dead, x, y, cursor, held, server, tty, command] = LOOKED.exec(head) ?? []
    if (pane_id === undefined) throw new Error(`tmux said of the pane ${pane}: ${JSON.stringify(head)}`)
    return {
      ...{ server: server ?? '', dead: dead === '1' },
      ...{ pane_id, pane_pid: Number(pid), tty: tty ?? '', command: command ?? '' },
      ...{ cursor_x: Number(x), cursor_y: Number(y), cursor_visible: cursor === '1' },
      in_mode: held !== '000',
      // After the last line comes a line break.
      lines: lines.slice(0, -1),
    }
  }

  /** Null where its server is not the one from before: that counts its panes from nought, and this may be another. */
  async function findBound({ server, pane_id }: Pick<Found, 'server' | 'pane_id'>): Promise<Found | null> {
    try {
      const found = await find(pane_id)
      return found.server === server ? found : null
    } catch (error) {
      if (!(error instanceof PaneGone)) throw error
      if ((await tmux('display-message', '-p', SERVER)).trim() !== server) return null
      if (isNumber(pane)) throw error
      throw new PaneGone(`the pane ${pane_id}, which was ${pane}, is gone; ${BIND_ANEW}`)
    }
  }

  async function findAsked(): Promise<Found> {
    const found = bound === null ? null : await findBound(bound)
    if (found !== null) return found
    if (bound !== null && isNumber(pane)) {
      throw new PaneGone(
        `the tmux server was started anew, and ${pane} may be another pane now; ` +
          'name the right one under personas.NAME.tmux in config.yaml, best as SESSION:WINDOW.PANE, ' +
          'and restart the daemon',
      )
    }
    const first = await find(exactly(pane))
    bound = { server: first.server, pane_id: first.pane_id }
    return first
  }

  /** Whoever named a place wants the agent there, and whoever moved it has to say which of both is meant. */
  async function refuseOtherPlace(pane_id: string): Promise<void> {
    if (!PLACE.test(pane)) return
    const target = exactly(pane)
    const capture = ['capture-pane', '-p', '-S', '0', '-E', '0', '-t', target]
    // Alone, the first would tell of some other pane where there is none of that name.
    const meant = await tmux('display-message', '-p', '-t', target, '#{pane_id}', ';', ...capture).catch(
      (error: unknown) => {
        if (error instanceof PaneGone) return null
        throw error
      },
    )
    const now = meant?.split('\n')[0] ?? pane_id
    if (now !== pane_id)
      throw new PaneGone(`${pane} was the pane ${pane_id}, and is ${now} now; ${BIND_ANEW}`)
  }

  return {
    async look() {
      const { server: _, dead, ...look } = await findAsked()
      if (dead) throw new PaneGone(`the program in the pane ${pane} has ended`)
      return look
    },

    async client({ tty, pane_id }) {
      await refuseOtherPlace(pane_id)
      const args = ['-ww', '-t', tty.replace(/^\/dev\//, ''), '-o', PROCESS_FIELDS]
      const { code, stdout, stderr } = await ask('ps', args)
      // Without an answer nobody knows; that is not the same as nobody there.
      if (code === null) throw new Error(`ps gave no answer: ${stderr.trim()}`)
      return clientInForeground(processesIn(stdout), client)
    },

    forget: () => void (bound = null),

    async paste(text, seen) {
      // Buffers belong to the whole server: nobody else's text may get into this one, nor may ours stay in it.
      const buffer = `turnbell-${seen.pane_id.slice(1)}`
      return ifAsSeen(seen, {
        before: ['set-buffer', '-b', buffer, '--', text, ';'],
        type: `paste-buffer -p -d -b ${buffer} -t ${seen.pane_id}`,
        otherwise: [`delete-buffer -b ${buffer}`],
      })
    },

    enter: (seen, mark) => ifAsSeen(seen, { marks: [mark], type: `send-keys -t ${seen.pane_id} Enter` }),
  }
}

function isNumber(pane: string): boolean {
  return pane.startsWith('%')
}

/**
 * Without the `=` tmux takes the beginning of a name for the name: `shop` would be `shop-bob` where there is no
 * `shop`. Source: tmux(1), COMMANDS.
 */
function exactly(pane: string): string {
  const named = (name: string) => (/^(?:[=@$%{^!+-]|$)/.test(name) ? name : `=${name}`)
  const [session = '', ...rest] = pane.split(':')
  if (rest.length > 0) return `${named(session)}:${named(rest.join(':'))}`
  return /^[\w-]+$/.test(pane) ? `=${pane}:` : pane
}

/** A condition in tmux's own words. Source: tmux(1), FORMATS. */
function asSeen(seen: Look, marks: readonly string[]): string {
  const { cursor_x, cursor_y, pane_pid, command } = seen
  const same = (name: string, value: string) => `#{==:${name},${value}}`
  const conditions = [
    same('#{pane_pid}', String(pane_pid)),
    same(`#{cursor_x} #{cursor_y}`, `${cursor_x} ${cursor_y}`),
    same(HELD, '000'),
    // A name with signs of tmux's own would be read as something else.
    ...(/^[\w.-]+$/.test(command) ? [same('#{pane_current_command}', command)] : []),
    ...marks.map((mark) => `#{C:${mark}}`),
  ]
  return conditions.reduce((all, condition) => `#{&&:${all},${condition}}`)
}
