/**
 * A pane of a tmux server: looks at it, and types into it.
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
  /** The client that holds the pane; null where another program does. */
  client(look: Look): Promise<TmuxClient | null>
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
const LOOK = [
  '#{pane_id}',
  '#{pane_pid}',
  '#{?pane_dead,1,0}',
  '#{cursor_x}',
  '#{cursor_y}',
  '#{?cursor_flag,1,0}',
  HELD,
  '#{start_time}:#{pid}',
  '#{pane_tty}',
  '#{pane_current_command}',
].join(' ')
const LOOKED = /^(%\d+) (\d+) ([01]) (\d+) (\d+) ([01]) ([01]{3}) (\d+:\d+) (\S+) (.*)$/

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
  /** The server that was seen first, for a pane that is known by its number. */
  let numberedBy: string | null = null

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

  /** A server counts its panes from nought, so a number from before may be the pane of another agent. */
  function refuseOtherServer(server: string): void {
    if (!pane.startsWith('%')) return
    numberedBy ??= server
    if (server === numberedBy) return
    throw new PaneGone(
      `the tmux server was started anew, and ${pane} may be another pane now; ` +
        'name the right one under personas.NAME.tmux in config.yaml, best as SESSION:WINDOW.PANE, ' +
        'and restart the daemon',
    )
  }

  return {
    async look() {
      const output = await tmux(
        ...['display-message', '-p', '-t', pane, LOOK, ';'],
        ...['capture-pane', '-p', '-e', '-t', pane],
      )
      const [head = '', ...lines] = output.split('\n')
      const [, pane_id, pid, dead, x, y, cursor, held, server, tty, command] = LOOKED.exec(head) ?? []
      if (pane_id === undefined) throw new Error(`tmux said of the pane ${pane}: ${JSON.stringify(head)}`)
      refuseOtherServer(server ?? '')
      if (dead === '1') throw new PaneGone(`the program in the pane ${pane} has ended`)
      return {
        ...{ pane_id, pane_pid: Number(pid), tty: tty ?? '', command: command ?? '' },
        ...{ cursor_x: Number(x), cursor_y: Number(y), cursor_visible: cursor === '1' },
        in_mode: held !== '000',
        // After the last line comes a line break.
        lines: lines.slice(0, -1),
      }
    },

    async client({ tty }) {
      const args = ['-ww', '-t', tty.replace(/^\/dev\//, ''), '-o', PROCESS_FIELDS]
      return clientInForeground(processesIn((await ask('ps', args)).stdout), client)
    },

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
