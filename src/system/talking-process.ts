/**
 * A program that a shim talks to over its standard streams, a line a message. It has a process group of its
 * own and belongs to this process: a note in a file finds it where this one was killed before it could end it.
 */
import { spawn, type ChildProcess } from 'node:child_process'
import fs from 'node:fs'
import { systemClock } from './clock.ts'
import { killNoted, noteProcess } from './process-note.ts'
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

interface TalkingProcess {
  /** Once, with the reason; also when it could not be started at all. */
  exited: Promise<string>
  write(line: string): void
  /** To be called once. */
  read(taker: Taker): void
  /** Closes its input. */
  ask(): void
  /** Kills it and everything it started. */
  kill(): void
}

/** How long what a dead process wrote last is waited for; something it started may hold the pipe for ever. */
const LAST_WORDS_MS = 2_000
/** A program that closed its output or its input and stays is of no use. */
const MUTE_MS = 2_000
const LAST_WORD_LENGTH_MAX = 500

/** Never throws: a program that cannot be started ends at once with the reason. */
export function startTalking({ argv, cwd, env, note_file, line_bytes_max, log }: TalkSpec): TalkingProcess {
  const [file = '', ...args] = argv
  let child: ChildProcess
  try {
    killNoted(note_file)
    child = spawn(file, args, { cwd, env, stdio: 'pipe', detached: true, windowsHide: true })
  } catch (error) {
    return neverStarted(String(error))
  }
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

  readLines(
    child.stderr,
    { length_max: LAST_WORD_LENGTH_MAX, cut: true },
    {
      onLine(line) {
        last_word = line.slice(0, LAST_WORD_LENGTH_MAX)
        log.debug({ line: last_word }, 'the agent says')
      },
      onEnd() {},
    },
  )
  const exited = new Promise<string>((resolve) => {
    let ended = false
    const end = (reason: string) => {
      // The note may be that of the next one by now.
      if (ended) return
      ended = true
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
  /** It cannot be talked to any more, so it is of no use. */
  function endSoon(): void {
    const mute = systemClock.after(MUTE_MS, kill)
    void exited.then(() => mute.cancel())
  }
  child.stdin?.on('error', endSoon)
  return {
    exited,
    write: (line: string) => void child.stdin?.write(`${line}\n`),
    read({ onLine, onEnd }: Taker) {
      readLines(
        child.stdout,
        { length_max: line_bytes_max, cut: false },
        {
          onLine,
          onEnd() {
            onEnd()
            endSoon()
          },
        },
      )
    },
    ask: () => void child.stdin?.end(),
    kill: () => void kill(),
  }
}

function neverStarted(reason: string): TalkingProcess {
  return {
    exited: Promise.resolve(reason),
    write() {},
    read: ({ onEnd }) => onEnd(),
    ask() {},
    kill() {},
  }
}

/**
 * A line that grows longer than that counts as the end of what can be read; or it is cut there, and the rest of it is
 * passed over. Without room for more files there is no stream at all.
 */
function readLines(
  stream: NodeJS.ReadableStream | null | undefined,
  { length_max, cut }: { length_max: number; cut: boolean },
  { onLine, onEnd }: Taker,
): void {
  if (stream == null) return onEnd()
  let rest: string[] = []
  let length = 0
  let over = false
  function begin(part: string): void {
    rest = []
    length = 0
    grow(part)
  }
  function grow(part: string): void {
    const kept = cut ? part.slice(0, length_max - length) : part
    if (kept !== '') rest.push(kept)
    length += kept.length
  }
  function took(next: string): void {
    const line = rest.join('').trim()
    if (line !== '') onLine(line)
    begin(next)
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
    grow(first)
    for (const next of others) took(next)
    if (length > length_max) end()
  })
  stream.on('end', end)
  stream.on('error', end)
}
