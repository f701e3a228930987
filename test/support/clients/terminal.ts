/** A program in a hidden terminal: tmux, on its own server. */
import { execFileSync } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { processAlive } from '../../../src/system/process/process-info.ts'
import { eventually } from '../eventually.ts'
import type { Offline } from './offline.ts'

export interface Terminal {
  /** Returns the text on the screen. */
  screen(): string
  /** Types text without pressing Enter. */
  type(text: string): void
  /** Presses keys by their tmux names: Enter, Escape, C-c. */
  press(...keys: string[]): void
  /** Presses the key until the question is gone, because a client ignores input in a dialog's first moment. */
  answers(question: RegExp, key: string): Promise<void>
  /** Waits until the screen matches. */
  shows(what: RegExp, within_ms?: number): Promise<string>
  /** Whether the program still runs. */
  alive(): boolean
  /** Kills the client and resolves when the terminal is gone. Its parent process may clean up. */
  kill(): Promise<void>
  /** Resolves when the program is gone. */
  close(): Promise<void>
}

export interface TerminalSize {
  columns: number
  rows: number
}

export interface TerminalOptions extends Partial<TerminalSize> {
  offline: Offline
  argv: readonly string[]
  cwd: string
  /** The complete environment of the program. */
  env: NodeJS.ProcessEnv
  /** Directory of the server's socket; its path must be short. */
  directory: string
}

/** Time within which a client that accepts the key shows it. */
const ANSWERED_MS = 2_000

/** Size of a window on a large screen. */
const USUAL: TerminalSize = { columns: 160, rows: 50 }

export function openTerminal(options: TerminalOptions): Terminal {
  const { offline, argv, cwd, env, directory, columns = USUAL.columns, rows = USUAL.rows } = options
  const socket = freeSocket(directory)
  const tmux = (...args: string[]) =>
    execFileSync('tmux', ['-S', socket, ...args], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] })
  const words = Object.entries(env).flatMap(([name, value]) =>
    value === undefined ? [] : [`${name}=${value}`],
  )
  // The server is started inside the namespace, so every program in its panes runs there, too.
  const [program, args] = offline.inside([
    'tmux',
    '-S',
    socket,
    '-f',
    '/dev/null',
    'new-session',
    '-d',
    '-s',
    'scene',
  ])
  const size = ['-x', String(columns), '-y', String(rows), '-c', cwd]
  execFileSync(program, [...args, ...size, 'env', '-i', ...words, ...argv], { env, stdio: 'pipe' })
  const pid = Number(tmux('list-panes', '-t', 'scene', '-F', '#{pane_pid}'))
  const screen = () => tmux('capture-pane', '-p', '-t', 'scene')

  return {
    screen,
    type: (text) => void tmux('send-keys', '-t', 'scene', '-l', text),
    press: (...keys) => void tmux('send-keys', '-t', 'scene', ...keys),
    async answers(question, key) {
      const gone = () => eventually(`${question} is answered`, () => !question.test(screen()), ANSWERED_MS)
      const pressed = () => {
        tmux('send-keys', '-t', 'scene', key)
        return gone().then(
          () => true,
          () => false,
        )
      }
      await eventually(`${question} is answered`, pressed)
    },
    async shows(what, within_ms = 60_000) {
      try {
        return await eventually(
          `the screen shows ${what}`,
          () => (what.test(screen()) ? screen() : null),
          within_ms,
        )
      } catch (error) {
        throw new Error(`${(error as Error).message}\n${screen()}`, { cause: error })
      }
    },
    alive: () => processAlive(pid),
    async kill() {
      process.kill(clientIn(pid), 'SIGKILL')
      await eventually('the terminal of a killed client is gone', () => !processAlive(pid))
    },
    async close() {
      try {
        tmux('kill-server')
      } catch {
        // The server ended with its last program.
      }
      await eventually('the program in the terminal has ended', () => !processAlive(pid))
    },
  }
}

/** Returns the client's own program, below the Node processes of `turnbell run` and of a package's launcher. */
function clientIn(pid: number): number {
  if (fs.readlinkSync(`/proc/${pid}/exe`) !== fs.realpathSync(process.execPath)) return pid
  const [child] = fs.readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ')
  if (!child) throw new Error(`process ${pid} has started no client`)
  return clientIn(Number(child))
}

/** Each terminal has its own server; the socket name of an ended one is reused. */
function freeSocket(directory: string): string {
  const sockets = ['tmux.sock', ...Array.from({ length: 8 }, (_, n) => `tmux-${n + 2}.sock`)]
  const free = sockets.map((name) => path.join(directory, name)).find((socket) => !fs.existsSync(socket))
  if (free === undefined) throw new Error(`too many terminals in ${directory}`)
  return free
}
