/** Starts the processes of a benchmark: real ones, on loopback, in temporary homes, each ended by its pid. */
import { spawn, type ChildProcess } from 'node:child_process'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { createInterface } from 'node:readline'
import { cleanEnvironment } from '../test/support/processes/processes.ts'

export { pause }

declare global {
  var BENCH_ROOT: string
}

/**
 * The repository's root, written into the bundles by `run.mjs`. Measured processes run there, independent of the
 * caller's directory.
 */
export const ROOT = globalThis.BENCH_ROOT
const STOP_GRACE_MS = 10_000
const START_MAX_MS = 30_000
const TMPFS_MAGIC = 0x01021994

const children = new Set<ChildProcess>()
const directories = new Set<string>()
const removals = new Set<() => void>()

/** Directory of temporary homes, and the argument of `--profile`. Set once by main. */
export const settings: { directory: string; profile: string | null } = {
  directory: os.tmpdir(),
  profile: null,
}

/** Returns true if a sync has no cost because the file system is in memory. */
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
  /** Sends SIGTERM, and SIGKILL if the process does not exit. Resolves when it is gone. */
  stop: () => Promise<void>
}

interface StartOptions {
  /** Matches the line of its output that shows it is ready; if omitted, it counts as ready at once. */
  ready?: RegExp
  ipc?: boolean
  /** Whether the benchmark itself reads its streams. */
  piped?: boolean
  /** Whether it is measured for memory or start time, and so never profiled. */
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
  /** Match of its ready line. */
  match: RegExpExecArray | null
}

/** Starts a program in an environment without variables of an outer turnbell. */
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
  // A full pipe would block the process, so its output is drained.
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

/** `remove` is called, synchronously, if the benchmark or the bench ends before the returned function is called. */
export function removedAtEnd(remove: () => void): () => void {
  removals.add(remove)
  return () => void removals.delete(remove)
}

/** Removes everything that must not survive a benchmark or the bench. Synchronous, for an exit handler. */
export function removeEverything(): void {
  for (const child of children) child.kill('SIGKILL')
  for (const remove of removals) remove()
  removals.clear()
  // A killed process may still have created a file there.
  for (const directory of directories) fs.rmSync(directory, { recursive: true, force: true, maxRetries: 20 })
  directories.clear()
}

/** Retries until the probe returns a value that is not false; fails with the awaited condition. */
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
