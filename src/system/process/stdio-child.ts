/**
 * Child process with line-based messages on its standard streams. It has its own process group and belongs to this
 * process: a file identifies it if this process was killed before it could end it.
 */
import { spawn, type ChildProcess } from 'node:child_process'
import fs from 'node:fs'
import { systemClock } from '../clock.ts'
import { killByPidFile, writePidFile } from './pid-file.ts'
import { readLines, type LineHandler } from './read-lines.ts'
import { killGroup } from './surface-command.ts'
import type { Log } from '../../ports/log.ts'

export interface StdioChildSpec {
  argv: readonly string[]
  cwd: string
  env: NodeJS.ProcessEnv
  /** Identifies the process. An orphan of an earlier run is killed first. */
  note_file: string
  /** Maximum line length; a program that writes a longer line is killed. */
  line_bytes_max: number
  log: Log
}

interface StdioChild {
  /** Resolves once, with the reason; also if it could not be started. */
  exited: Promise<string>
  write(line: string): void
  /** Must be called once. */
  read(taker: LineHandler): void
  /** Closes its input. */
  closeInput(): void
  /** Kills it with its process group. */
  kill(): void
}

/** Maximum time to wait for the last output of an ended process, because one of its children may keep the pipe open. */
const LAST_OUTPUT_MS = 2_000
/** Time after which a program that closed a stream without exiting is killed. */
const CLOSED_STREAM_MS = 2_000
const LAST_WORD_LENGTH_MAX = 500

/** Never throws: a program that cannot be started ends at once with the reason. */
export function startStdioChild(spec: StdioChildSpec): StdioChild {
  const { argv, cwd, env, note_file, line_bytes_max } = spec
  const [file = '', ...args] = argv
  let child: ChildProcess
  try {
    killByPidFile(note_file)
    child = spawn(file, args, { cwd, env, stdio: 'pipe', detached: true, windowsHide: true })
  } catch (error) {
    return neverStarted(String(error))
  }
  const { pid } = child
  const kill = () => pid !== undefined && killGroup(pid)
  // After a SIGKILL this does not run; then the end of its input notifies the program.
  process.once('exit', kill)
  const lastWord = readLastWord(child, spec)
  const exited = exitReason(child, (reason) => {
    process.off('exit', kill)
    fs.rmSync(note_file, { force: true })
    const last_word = lastWord()
    return last_word === '' ? reason : `${reason}: ${last_word}`
  })
  /** Kills the program if it does not exit soon, because it cannot communicate any more. */
  function killAfterGrace(): void {
    const mute = systemClock.after(CLOSED_STREAM_MS, kill)
    void exited.then(() => mute.cancel())
  }
  child.stdin?.on('error', killAfterGrace)
  return {
    exited,
    write: (line: string) => void child.stdin?.write(`${line}\n`),
    read({ onLine, onEnd }: LineHandler) {
      readLines(
        child.stdout,
        { length_max: line_bytes_max, truncates: false },
        {
          onLine,
          onEnd() {
            onEnd()
            killAfterGrace()
          },
        },
      )
    },
    closeInput: () => void child.stdin?.end(),
    kill: () => void kill(),
  }
}

/** Returns a function that returns the last line on stderr. Writes the pid file first; its failure counts as such a line. */
function readLastWord(
  { pid, stderr }: ChildProcess,
  { note_file, log }: Pick<StdioChildSpec, 'note_file' | 'log'>,
): () => string {
  let last_word = ''
  if (pid !== undefined) {
    try {
      writePidFile(note_file, pid)
    } catch (error) {
      last_word = `killed: its pid file could not be written: ${String(error)}`
    }
  }
  readLines(
    stderr,
    { length_max: LAST_WORD_LENGTH_MAX, truncates: true },
    {
      onLine(line) {
        last_word = line.trim()
        log.debug({ line: last_word }, 'agent wrote to stderr')
      },
      onEnd() {},
    },
  )
  return () => last_word
}

/** Resolves with what `onEnded` returns, once the program has ended or could not be started. */
function exitReason(child: ChildProcess, onEnded: (reason: string) => string): Promise<string> {
  return new Promise((resolve) => {
    let ended = false
    const end = (reason: string) => {
      // The pid file may already belong to the next program.
      if (ended) return
      ended = true
      resolve(onEnded(reason))
    }
    child.once('error', (error) => end(error.message))
    child.once('exit', (code, os_signal) => {
      const reason = os_signal ?? `exit code ${code}`
      const patience = systemClock.after(LAST_OUTPUT_MS, () => end(reason))
      child.once('close', () => {
        patience.cancel()
        end(reason)
      })
    })
  })
}

function neverStarted(reason: string): StdioChild {
  return {
    exited: Promise.resolve(reason),
    write() {},
    read: ({ onEnd }) => onEnd(),
    closeInput() {},
    kill() {},
  }
}
