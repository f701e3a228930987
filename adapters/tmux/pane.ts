/**
 * Reads a pane of a tmux server and types into it.
 *
 * A name such as `work:0.1` is a position, and panes move up when another one closes. So a name is resolved once, and the
 * pane is identified by its number afterwards.
 *
 * No key is sent because of an earlier look alone. tmux runs commands one at a time, so it checks in the same step that
 * the pane is unchanged: the cursor, the program, no copy mode. Changes that the client has not drawn yet cannot be
 * detected; see decision 11.
 */
import { clientInForeground, PROCESS_FIELDS, parseProcesses } from './foreground.ts'
import type { Capture, TmuxClient } from './screen.ts'
import type { TmuxSettings } from '../../src/contracts/config.ts'

/** A captured screen with the identity of its pane. */
export interface Look extends Capture {
  /** The pane's permanent number. */
  pane_id: string
  pane_pid: number
  tty: string
  /** tmux's name of the program. */
  command: string
}

export interface Pane {
  /** Captures the screen. Throws `PaneGoneError` if the pane does not exist, or another error if tmux did not answer. */
  look(): Promise<Look>
  /** Returns the client in the pane; null for another program. Throws like `look`. */
  client(look: Look): Promise<TmuxClient | null>
  /** Makes the next look resolve the pane's name again. */
  forget(): void
  /** Pastes as a terminal does. Returns false without typing if the pane has changed. */
  paste(text: string, seen: Look): Promise<boolean>
  /** Presses Enter once. Returns false without pressing it if the pane has changed or does not show `mark`. */
  enter(seen: Look, mark: string): Promise<boolean>
}

export class PaneGoneError extends Error {}

/** Runs a short command. */
export type RunCommand = (
  program: string,
  args: readonly string[],
) => Promise<{ code: number | null; stdout: string; stderr: string }>

const GONE =
  /can't find|no server running|error connecting|no such (?:session|window|pane)|lost server|server exited/i
/** Keys do not reach only this program: copy mode, synchronized panes, or a pane with input off. */
const INPUT_BLOCKED = '#{?pane_in_mode,1,0}#{?pane_synchronized,1,0}#{?pane_input_off,1,0}'
/** Distinguishes a server from a later one on the same socket. */
const SERVER = '#{start_time}:#{pid}'
const LOOK_FORMAT = [
  '#{pane_id}',
  '#{pane_pid}',
  '#{?pane_dead,1,0}',
  '#{cursor_x}',
  '#{cursor_y}',
  '#{?cursor_flag,1,0}',
  INPUT_BLOCKED,
  SERVER,
  '#{pane_tty}',
  '#{pane_current_command}',
].join(' ')
const LOOK_PATTERN = /^(%\d+) (\d+) ([01]) (\d+) (\d+) ([01]) ([01]{3}) (\d+:\d+) (\S+) (.*)$/

/** A full position, which names exactly one pane. Without the pane's index it would mean the active one. */
const POSITION = /^[^%:][^:]*:.+\.\d+$/
const REBIND_HINT = 'run `turnbell resume --persona NAME` to use the pane with that name now'

interface FoundPane extends Look {
  server: string
  dead: boolean
}

/** tmux commands around a condition. */
interface ConditionalStep {
  /** Texts that must be on the screen. */
  marks?: readonly string[]
  /** Arguments of a preceding command, with its final `;`. */
  before?: readonly string[]
  type: string
  otherwise?: readonly string[]
}

/** Runs tmux commands. Throws `PaneGoneError` if the target does not exist, or another error if tmux failed. */
type Tmux = (...args: string[]) => Promise<string>

export function tmuxPane({ pane, socket, client }: TmuxSettings, run: RunCommand): Pane {
  const tmux = tmuxCommand(socket, run)
  const panes = paneSearch(pane, tmux)
  return {
    async look() {
      const { server: _, dead, ...look } = await panes.find()
      if (dead) throw new PaneGoneError(`the program in the pane ${pane} has ended`)
      return look
    },

    async client({ tty, pane_id }) {
      await requireSamePosition(pane, pane_id, tmux)
      const args = ['-ww', '-t', tty.replace(/^\/dev\//, ''), '-o', PROCESS_FIELDS]
      const { code, stdout, stderr } = await run('ps', args)
      // A missing answer does not mean that the pane has no client.
      if (code === null) throw new Error(`ps did not answer: ${stderr.trim()}`)
      return clientInForeground(parseProcesses(stdout), client)
    },

    forget: () => panes.forget(),

    async paste(text, seen) {
      // Buffers are shared by the server, so the pane has a buffer of its own, which is deleted afterwards.
      const buffer = `turnbell-${seen.pane_id.slice(1)}`
      return ifUnchanged(tmux, seen, {
        before: ['set-buffer', '-b', buffer, '--', text, ';'],
        type: `paste-buffer -p -d -b ${buffer} -t ${seen.pane_id}`,
        otherwise: [`delete-buffer -b ${buffer}`],
      })
    },

    enter: (seen, mark) =>
      ifUnchanged(tmux, seen, { marks: [mark], type: `send-keys -t ${seen.pane_id} Enter` }),
  }
}

function tmuxCommand(socket: string | undefined, run: RunCommand): Tmux {
  return async (...args) => {
    const { code, stdout, stderr } = await run('tmux', socket === undefined ? args : ['-S', socket, ...args])
    if (code === 0) return stdout
    const message = stderr.trim()
    if (code !== null && GONE.test(message)) throw new PaneGoneError(message)
    throw new Error(message || 'tmux did not answer')
  }
}

/** Types if the pane is unchanged. The server runs check and typing as one step, without other commands in between. */
async function ifUnchanged(
  tmux: Tmux,
  seen: Look,
  { marks = [], before = [], type, otherwise = [] }: ConditionalStep,
): Promise<boolean> {
  const answer = await tmux(
    ...before,
    ...['if-shell', '-F', '-t', seen.pane_id, unchangedCondition(seen, marks)],
    `${type} ; display-message -p typed`,
    [...otherwise, 'display-message -p held'].join(' ; '),
  )
  return answer.trim() === 'typed'
}

interface PaneSearch {
  /** Captures the pane. The first call resolves its name; later ones use its number. */
  find(): Promise<FoundPane>
  /** Makes the next `find` resolve the name again. */
  forget(): void
}

/** Finds a configured pane. */
function paneSearch(pane: string, tmux: Tmux): PaneSearch {
  /** The pane that the first search found, and its server. */
  let bound: Pick<FoundPane, 'server' | 'pane_id'> | null = null

  async function capture(target: string): Promise<FoundPane> {
    const output = await tmux(
      ...['display-message', '-p', '-t', target, LOOK_FORMAT, ';'],
      ...['capture-pane', '-p', '-e', '-t', target],
    )
    const found = parseLook(output)
    if (found !== null) return found
    const head = output.split('\n')[0] ?? ''
    throw new Error(`unexpected answer of tmux for ${pane}: ${JSON.stringify(head)}`)
  }

  /** Returns null if the server is another one, because its pane numbers start at zero again. */
  async function captureBound({
    server,
    pane_id,
  }: Pick<FoundPane, 'server' | 'pane_id'>): Promise<FoundPane | null> {
    try {
      const found = await capture(pane_id)
      return found.server === server ? found : null
    } catch (error) {
      if (!(error instanceof PaneGoneError)) throw error
      if ((await tmux('display-message', '-p', SERVER)).trim() !== server) return null
      if (isNumber(pane)) throw error
      throw new PaneGoneError(`pane ${pane_id}, bound as ${pane}, no longer exists; ${REBIND_HINT}`)
    }
  }

  return {
    async find() {
      const found = bound === null ? null : await captureBound(bound)
      if (found !== null) return found
      if (bound !== null && isNumber(pane)) {
        throw new PaneGoneError(
          `the tmux server was restarted, and ${pane} may be another pane now; ` +
            'set the pane under personas.NAME.tmux in config.yaml, preferably as SESSION:WINDOW.PANE, ' +
            'and restart the daemon',
        )
      }
      const first = await capture(exactTarget(pane))
      bound = { server: first.server, pane_id: first.pane_id }
      return first
    },
    forget: () => void (bound = null),
  }
}

/** Parses the answer to `LOOK_FORMAT` and the captured lines after it. Returns null for another format. */
function parseLook(output: string): FoundPane | null {
  const [head = '', ...lines] = output.split('\n')
  const [, pane_id, pid, dead, x, y, cursor, held, server, tty, command] = LOOK_PATTERN.exec(head) ?? []
  if (pane_id === undefined) return null
  return {
    server: server ?? '',
    dead: dead === '1',
    pane_id,
    pane_pid: Number(pid),
    tty: tty ?? '',
    command: command ?? '',
    cursor_x: Number(x),
    cursor_y: Number(y),
    cursor_visible: cursor === '1',
    in_mode: held !== '000',
    // The output ends with a line break.
    lines: lines.slice(0, -1),
  }
}

/** Throws if a pane that is configured by position has moved, because a person has to decide which pane is meant. */
async function requireSamePosition(pane: string, pane_id: string, tmux: Tmux): Promise<void> {
  if (!POSITION.test(pane)) return
  const target = exactTarget(pane)
  const capture = ['capture-pane', '-p', '-S', '0', '-E', '0', '-t', target]
  // The capture makes tmux fail for an unknown name; `display-message` alone would report some other pane.
  const output = await tmux('display-message', '-p', '-t', target, '#{pane_id}', ';', ...capture).catch(
    (error: unknown) => {
      if (error instanceof PaneGoneError) return null
      throw error
    },
  )
  const now = output?.split('\n')[0] ?? pane_id
  if (now !== pane_id)
    throw new PaneGoneError(`${pane} was pane ${pane_id} and is now ${now}; ${REBIND_HINT}`)
}

function isNumber(pane: string): boolean {
  return pane.startsWith('%')
}

/**
 * Returns a target that matches names exactly. Without `=` tmux also matches prefixes: `shop` would be `shop-bob` if
 * `shop` does not exist. Source: tmux(1), COMMANDS.
 */
function exactTarget(pane: string): string {
  const exactName = (name: string) => (/^(?:[=@$%{^!+-]|$)/.test(name) ? name : `=${name}`)
  const [session = '', ...rest] = pane.split(':')
  if (rest.length > 0) return `${exactName(session)}:${exactName(rest.join(':'))}`
  return /^[\w-]+$/.test(pane) ? `=${pane}:` : pane
}

/** Returns a tmux format that is true if the pane is unchanged. Source: tmux(1), FORMATS. */
function unchangedCondition(seen: Look, marks: readonly string[]): string {
  const { cursor_x, cursor_y, pane_pid, command } = seen
  const same = (name: string, value: string) => `#{==:${name},${value}}`
  const conditions = [
    same('#{pane_pid}', String(pane_pid)),
    same(`#{cursor_x} #{cursor_y}`, `${cursor_x} ${cursor_y}`),
    same(INPUT_BLOCKED, '000'),
    // Omitted for a name with characters that tmux would interpret.
    ...(/^[\w.-]+$/.test(command) ? [same('#{pane_current_command}', command)] : []),
    ...marks.map((mark) => `#{C:${mark}}`),
  ]
  return conditions.reduce((all, condition) => `#{&&:${all},${condition}}`)
}
