/** Starts and stops supervised processes. */
import { spawn, type ChildProcess } from 'node:child_process'
import { readLines } from './read-lines.ts'

export interface ChildSpec {
  program: string
  args: readonly string[]
  /** The whole environment of the child; nothing else is inherited. */
  env: NodeJS.ProcessEnv
  /** One line of its output; very long ones are truncated. */
  onLine: (stream: 'stdout' | 'stderr', line: string) => void
  /** Called once. `code` is null if a signal ended it, or if it could not be started. */
  onExit: (code: number | null, reason: string) => void
}

export interface Child {
  /** Undefined if it could not be started. */
  pid: number | undefined
  /** Sends SIGTERM or SIGKILL. */
  stop(how: 'ask' | 'kill'): void
}

const LINES = { length_max: 4_096, truncates: true }

/** Starts a child without a shell and without stdin, which ends when asked or when its parent closes the pipes. */
export function startChild({ program, args, env, onLine, onExit }: ChildSpec): Child {
  const child: ChildProcess = spawn(program, args, {
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
    windowsHide: true,
  })
  let ended = false
  const end = (code: number | null, reason: string) => {
    if (ended) return
    ended = true
    onExit(code, reason)
  }
  child.on('error', (error) => end(null, error.message))
  // `exit`, not `close`, because a grandchild may keep the pipes open.
  child.on('exit', (code, os_signal) => end(code, os_signal ?? `exit code ${code}`))
  for (const stream of ['stdout', 'stderr'] as const)
    readLines(child[stream], LINES, { onLine: (line) => onLine(stream, line), onEnd() {} })
  return {
    pid: child.pid,
    stop: (how) => void (ended || child.kill(how === 'ask' ? 'SIGTERM' : 'SIGKILL')),
  }
}
