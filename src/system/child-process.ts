/** Starts and stops the processes we supervise. */
import { spawn, type ChildProcess } from 'node:child_process'

export interface ChildSpec {
  program: string
  args: readonly string[]
  /** The whole environment of the child: what is not named here it does not get. */
  env: NodeJS.ProcessEnv
  /** One line of what it wrote, cut where it is very long. */
  onLine: (stream: 'stdout' | 'stderr', line: string) => void
  /** Once. `code` is null when an os signal ended it, or when it could not be started at all. */
  onExit: (code: number | null, reason: string) => void
}

export interface Child {
  /** Undefined when it could not be started. */
  pid: number | undefined
  /** Asks it to stop, or makes it. */
  stop(how: 'ask' | 'kill'): void
}

/** A child without a shell, without stdin, that ends when its parent closes the pipes or asks. */
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
  // `exit`, not `close`: a grandchild may hold the pipes open long after the child has died.
  child.on('exit', (code, os_signal) => end(code, os_signal ?? `exit code ${code}`))
  readLines(child.stdout, (line) => onLine('stdout', line))
  readLines(child.stderr, (line) => onLine('stderr', line))
  return {
    pid: child.pid,
    stop: (how) => void (ended || child.kill(how === 'ask' ? 'SIGTERM' : 'SIGKILL')),
  }
}

const LINE_LENGTH_MAX = 4_096

/** Without room for more files there is no stream. */
function readLines(stream: NodeJS.ReadableStream | null, onLine: (line: string) => void): void {
  if (!stream) return
  let rest = ''
  stream.setEncoding('utf8')
  stream.on('data', (text: string) => {
    const lines = (rest + text).split('\n')
    // A line without an end must not grow for ever; its beginning says enough.
    rest = (lines.pop() as string).slice(0, LINE_LENGTH_MAX)
    for (const line of lines) if (line !== '') onLine(line.slice(0, LINE_LENGTH_MAX))
  })
  stream.on('end', () => rest !== '' && onLine(rest))
  stream.on('error', () => {})
}
