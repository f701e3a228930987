/** The processes of a benchmark: real ones, on loopback, in throw-away homes, each ended by its pid. */
import { spawn, type ChildProcess } from 'node:child_process'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { createInterface } from 'node:readline'
import { cleanEnvironment } from '../test/support/processes.ts'

export { pause }

declare global {
  var BENCH_ROOT: string
}

/** The repository, written into the bundles by `run.mjs`. What is measured runs there, wherever the bench was called. */
export const ROOT = globalThis.BENCH_ROOT
const STOP_GRACE_MS = 10_000
const START_MAX_MS = 30_000
const TMPFS_MAGIC = 0x01021994

const children = new Set<ChildProcess>()
const directories = new Set<string>()

/** Where temporary homes are made, and what `--profile` asked for. Set once by main. */
export const settings: { directory: string; profile: string | null } = {
  directory: os.tmpdir(),
  profile: null,
}

/** True where a sync costs nothing because nothing is ever written to a disk. */
export function inMemory(directory: string): boolean {
  return process.platform === 'linux' && fs.statfsSync(directory).type === TMPFS_MAGIC
}

export function temporaryDirectory(): string {
  const directory = fs.mkdtempSync(path.join(settings.directory, 'tb-bench-'))
  directories.add(directory)
  return directory
}

export interface Process {
  pid: number
  /** SIGTERM, and SIGKILL for one that does not go. Resolves when it is gone. */
  stop: () => Promise<void>
}

interface StartOptions {
  /** The line of its output that says it is ready; without one it counts as ready at once. */
  ready?: RegExp
  ipc?: boolean
  /** Its streams are for the bench: nobody else reads what it says. */
  piped?: boolean
  /** Measured for what it weighs or how fast it starts: never profiled. */
  bare?: boolean
}

/** Starts `node ARGS`; see `startProgram`. */
export function startNode(args: readonly string[], options: StartOptions = {}): Promise<Started> {
  const profiled = settings.profile !== null && options.bare !== true
  const profile = profiled ? ['--cpu-prof', '--cpu-prof-dir', settings.profile ?? ''] : []
  return startProgram(process.execPath, [...profile, ...args], options)
}

export interface Started extends Process {
  child: ChildProcess
  /** Of the line that said it is ready. */
  match: RegExpExecArray | null
}

/** Starts a program in an environment without anything an outer turnbell may have set. */
export async function startProgram(
  command: string,
  args: readonly string[],
  { ready, ipc = false, piped = false }: StartOptions = {},
): Promise<Started> {
  const child = spawn(command, args, {
    cwd: ROOT,
    env: cleanEnvironment(),
    stdio: [piped ? 'pipe' : 'ignore', 'pipe', 'pipe', ...(ipc ? (['ipc'] as const) : [])],
  })
  let said = ''
  const gone = new Promise<void>((resolve) => {
    child.once('error', ({ message }) => {
      said += message
      resolve()
    })
    child.once('exit', () => resolve())
  })
  children.add(child)
  void gone.then(() => children.delete(child))
  child.stderr?.on('data', (chunk: Buffer) => (said = (said + chunk.toString()).slice(-4000)))
  const what = () => `${path.basename(command)} ${args.join(' ')}: ${said}`
  const match = ready ? await readyLine(child, ready, gone, what) : null
  if (child.pid === undefined) {
    await gone
    throw new Error(`not started: ${what()}`)
  }
  // Nobody reads on: a pipe that fills up would stop the process.
  if (!piped) child.stdout?.resume()
  return { child, pid: child.pid, match, stop: () => stop(child, gone) }
}

async function readyLine(
  child: ChildProcess,
  ready: RegExp,
  gone: Promise<void>,
  what: () => string,
): Promise<RegExpExecArray> {
  if (!child.stdout) throw new Error('a process without output')
  const lines = createInterface({ input: child.stdout })
  const timeout = new AbortController()
  const found = new Promise<RegExpExecArray>((resolve) => {
    lines.on('line', (line) => {
      const match = ready.exec(line)
      if (match) resolve(match)
    })
  })
  try {
    return await Promise.race([
      found,
      gone.then(() => Promise.reject(new Error(`ended before it was ready: ${what()}`))),
      pause(START_MAX_MS, undefined, { signal: timeout.signal }).then(() =>
        Promise.reject(new Error(`not ready within ${START_MAX_MS} ms: ${what()}`)),
      ),
    ])
  } finally {
    timeout.abort()
    lines.close()
  }
}

async function stop(child: ChildProcess, gone: Promise<void>): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  child.kill('SIGTERM')
  const timeout = new AbortController()
  const late = pause(STOP_GRACE_MS, 'late', { signal: timeout.signal }).catch(() => 'gone')
  if ((await Promise.race([gone, late])) === 'late') child.kill('SIGKILL')
  timeout.abort()
  await gone
}

/** What must outlive neither a benchmark nor the bench, however it ends. Synchronous, for an exit handler. */
export function removeEverything(): void {
  for (const child of children) child.kill('SIGKILL')
  // Who was just killed may still have put a file there.
  for (const directory of directories) fs.rmSync(directory, { recursive: true, force: true, maxRetries: 20 })
  directories.clear()
}

/** Asks again until the answer is neither false nor an error; fails with what was awaited. */
export async function until<T>(what: string, probe: () => Promise<T>, every_ms = 20): Promise<T> {
  const end = performance.now() + START_MAX_MS
  for (;;) {
    const answer = await probe().catch((error: unknown) => {
      if (performance.now() > end) throw new Error(`${what}: not within ${START_MAX_MS} ms`, { cause: error })
      return false as const
    })
    if (answer !== false) return answer
    if (performance.now() > end) throw new Error(`${what}: not within ${START_MAX_MS} ms`)
    await pause(every_ms)
  }
}
