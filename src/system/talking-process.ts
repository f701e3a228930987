/**
 * A program that a shim talks to over its standard streams, a line a message. It has a process group of its
 * own and belongs to this process: a note in a file finds it where this one was killed before it could end it.
 */
import { spawn } from 'node:child_process'
import fs from 'node:fs'
import { systemClock } from './clock.ts'
import { noteProcess, notedPid } from './process-note.ts'
import { killGroup } from './program.ts'
import type { Log } from '../ports/log.ts'

export interface TalkSpec {
  argv: readonly string[]
  cwd: string
  env: NodeJS.ProcessEnv
  /** Remembers the process. What an earlier one left behind is killed first. */
  note_file: string
  /** A program that writes a longer line is ended. */
  line_bytes_max: number
  log: Log
}

interface Taker {
  onLine: (line: string) => void
  onEnd: () => void
}

/** How long what a dead process wrote last is waited for; something it started may hold the pipe for ever. */
const LAST_WORDS_MS = 2_000
/** A program that closed its output and stays is of no use. */
const MUTE_MS = 2_000
const LAST_WORD_LENGTH_MAX = 500

/** Never throws: a program that cannot be started ends at once with the reason. */
export function startTalking({ argv, cwd, env, note_file, line_bytes_max, log }: TalkSpec) {
  endNoted(note_file)
  const [file = '', ...args] = argv
  const child = spawn(file, args, { cwd, env, stdio: 'pipe', detached: true, windowsHide: true })
  const { pid } = child
  let last_word = ''
  if (pid !== undefined) {
    try {
      noteProcess(note_file, pid)
    } catch (error) {
      last_word = `it was ended, because it could not be noted: ${String(error)}`
    }
  }
  const kill = () => pid !== undefined && killGroup(pid)
  // A process that is killed cannot do this; then the end of its input tells the program.
  process.once('exit', kill)

  readLines(child.stderr, Infinity, {
    onLine(line) {
      last_word = line.slice(0, LAST_WORD_LENGTH_MAX)
      log.debug({ line: last_word }, 'the agent says')
    },
    onEnd() {},
  })
  const exited = new Promise<string>((resolve) => {
    const end = (reason: string) => {
      process.off('exit', kill)
      fs.rmSync(note_file, { force: true })
      resolve(last_word === '' ? reason : `${reason}: ${last_word}`)
    }
    child.once('error', (error) => end(error.message))
    child.once('exit', (code, os_signal) => {
      const reason = os_signal ?? `exit code ${code}`
      const patience = systemClock.after(LAST_WORDS_MS, () => end(reason))
      child.once('close', () => {
        patience.cancel()
        end(reason)
      })
    })
  })
  child.stdin.on('error', () => {})
  return {
    exited,
    write: (line: string) => void child.stdin.write(`${line}\n`),
    read({ onLine, onEnd }: Taker) {
      readLines(child.stdout, line_bytes_max, {
        onLine,
        onEnd() {
          onEnd()
          const mute = systemClock.after(MUTE_MS, kill)
          void exited.then(() => mute.cancel())
        },
      })
    },
    ask: () => void child.stdin.end(),
    kill: () => void kill(),
  }
}

function endNoted(note_file: string): void {
  const pid = notedPid(note_file)
  if (pid !== null) killGroup(pid)
}

/** A line that does not end counts as the end of what can be read. */
function readLines(stream: NodeJS.ReadableStream, length_max: number, { onLine, onEnd }: Taker): void {
  let rest: string[] = []
  let length = 0
  let over = false
  function took(next: string): void {
    const line = rest.join('').trim()
    if (line !== '') onLine(line)
    rest = [next]
    length = next.length
  }
  const end = () => {
    if (over) return
    over = true
    if (length <= length_max) took('')
    onEnd()
  }
  stream.setEncoding('utf8')
  stream.on('data', (text: string) => {
    if (over) return
    const [first = '', ...others] = text.split('\n')
    rest.push(first)
    length += first.length
    for (const next of others) took(next)
    if (length > length_max) end()
  })
  stream.on('end', end)
  stream.on('error', end)
}
