/** The processes of a benchmark: real ones, on loopback, in throw-away homes, each ended by its pid. */
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { createInterface } from 'node:readline'
import { personaPaths, resolveHome } from '../src/system/home.ts'

export { pause }

declare global {
  var BENCH_ROOT: string
}

const HERE = import.meta.dirname
/** The repository, written into the bundles by `run.mjs`. What is measured runs there, wherever the bench was called. */
export const ROOT = globalThis.BENCH_ROOT
export const TURNBELL = path.join(ROOT, 'dist/turnbell.cjs')
const STOP_GRACE_MS = 10_000
const START_MAX_MS = 30_000
/** Of a journal segment, to see how long its lines are. */
const SAMPLE_BYTES = 1_000_000
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
  const gone = new Promise<void>((resolve) => {
    child.once('error', () => resolve())
    child.once('exit', () => resolve())
  })
  children.add(child)
  void gone.then(() => children.delete(child))
  let said = ''
  child.stderr?.on('data', (chunk: Buffer) => (said = (said + chunk.toString()).slice(-4000)))
  const what = () => `${path.basename(command)} ${args.join(' ')}: ${said}`
  const match = ready ? await readyLine(child, ready, gone, what) : null
  // Nobody reads on: a pipe that fills up would stop the process.
  if (!piped) child.stdout?.resume()
  return { child, pid: child.pid ?? 0, match, stop: () => stop(child, gone) }
}

/** Ours, without what would make another home or another node of it. */
export function cleanEnvironment(): NodeJS.ProcessEnv {
  return Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !/^(TURNBELL_|NODE_OPTIONS)/.test(name)),
  )
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

/** What must not outlive the bench, however it ends. Synchronous, for an exit handler. */
export function removeEverything(): void {
  for (const child of children) child.kill('SIGKILL')
  // Who was just killed may still have put a file there.
  for (const directory of directories) fs.rmSync(directory, { recursive: true, force: true, maxRetries: 20 })
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

// --- the product's own -----------------------------------------------------------------------

export interface Hub extends Process {
  url: string
  home: string
  journal: string
}

/** The product's hub, and the same code over another disk or with a door for the measurement. */
const HUBS = {
  durable: [TURNBELL, 'hub'],
  'sync off': [path.join(HERE, 'hub-without-sync.js')],
  'blocking sync': [path.join(HERE, 'hub-with-blocking-sync.js')],
  'slow disk': [path.join(HERE, 'hub-on-slow-disk.js')],
  'with gc': ['--expose-gc', path.join(HERE, 'hub-with-gc.js')],
} satisfies Record<string, string[]>
export type HubKind = keyof typeof HUBS

export async function startHub(kind: HubKind, home = temporaryDirectory()): Promise<Hub> {
  const hub = await startNode([...HUBS[kind], '--home', home, '--port', '0'], {
    ready: /^turnbell hub ready (http\S+)$/,
  })
  return {
    pid: hub.pid,
    stop: hub.stop,
    url: hub.match?.[1] ?? '',
    home,
    journal: resolveHome({}, home).hub_journal,
  }
}

/** What answers a hello, and is no hub. */
export type BareServer = Pick<Hub, 'pid' | 'stop' | 'url'>

/** `bare-hub.ts` takes sends, too. */
export const startBareHub = () => startBareServer(['bare-hub.js', temporaryDirectory()])

export async function startBareServer(
  [program = '', ...args]: readonly string[],
  node_options: readonly string[] = [],
): Promise<BareServer> {
  const { pid, stop, match } = await startNode([...node_options, path.join(HERE, program), ...args], {
    ready: /^bare ready (http\S+)$/,
  })
  return { pid, stop, url: match?.[1] ?? '' }
}

export function daemonArgs(home: string, identity: string): string[] {
  return [TURNBELL, 'daemon', '--home', home, '--persona', identity, '--surface', 'mcp']
}

export function socketsOf(home: string, identity: string): { control: string; surface: string } {
  const paths = personaPaths(resolveHome({}, home), 'local', identity, process.env)
  return { control: paths.control_socket, surface: paths.surface_socket }
}

export function operatorToken({ home }: Pick<Hub, 'home'>): string {
  return fs.readFileSync(resolveHome({}, home).operator_token, 'utf8').trim()
}

/** POST as the operator of that hub's home. */
export async function post<T>(hub: Hub, route: string, body: unknown, token?: string): Promise<T> {
  const response = await fetch(`${hub.url}${route}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token ?? operatorToken(hub)}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  const text = await response.text()
  if (!response.ok) throw new Error(`${route} answered ${response.status}: ${text}`)
  return JSON.parse(text) as T
}

export async function agentToken(hub: Hub, identity: string, session_id?: string): Promise<string> {
  const request = { identity, kind: 'agent', ...(session_id === undefined ? {} : { session_id }) }
  return (await post<{ token: string }>(hub, '/auth/token', request)).token
}

export async function addPersonas(hub: Hub, identities: readonly string[]): Promise<void> {
  for (const identity of identities) await post(hub, '/api/personas/add', { identity, surface: 'mcp' })
}

/** Mean length of the lines of a journal that hold a signal: what one durable send really appends. */
export function meanSignalLine(journal: string): number {
  const lines = fs
    .readdirSync(journal)
    .filter((name) => name.endsWith('.jsonl'))
    .flatMap((name) =>
      fs.readFileSync(path.join(journal, name)).toString('utf8', 0, SAMPLE_BYTES).split('\n').slice(0, -1),
    )
    .filter((line) => line.includes('"payload"'))
  if (lines.length === 0) throw new Error(`no signal in ${journal}`)
  return Math.round(lines.reduce((sum, line) => sum + Buffer.byteLength(line) + 1, 0) / lines.length)
}

// --- what a process uses ---------------------------------------------------------------------

export interface Usage {
  rss_mib: number
  cpu_us: number
}

/** Resident memory and processor time so far of a running process, all its threads included. */
export async function usage(pid: number): Promise<Usage> {
  if (process.platform !== 'linux') return usageFromPs(pid)
  const status = fs.readFileSync(`/proc/${pid}/status`, 'utf8')
  const rss_kib = Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1])
  // Nanoseconds on a processor: the first field of schedstat. The ticks in stat are 10 ms coarse.
  const cpu_ns = fs.readdirSync(`/proc/${pid}/task`).reduce((sum, task) => {
    return sum + Number(fs.readFileSync(`/proc/${pid}/task/${task}/schedstat`, 'utf8').split(' ')[0])
  }, 0)
  return { rss_mib: rss_kib / 1024, cpu_us: cpu_ns / 1000 }
}

async function usageFromPs(pid: number): Promise<Usage> {
  const ps = spawn('ps', ['-o', 'rss=,time=', '-p', String(pid)], { stdio: ['ignore', 'pipe', 'inherit'] })
  let text = ''
  ps.stdout.on('data', (chunk: Buffer) => (text += chunk.toString()))
  await once(ps, 'close')
  const [rss_kib = '', time = ''] = text.trim().split(/\s+/)
  const seconds = time.split(':').reduce((sum, part) => sum * 60 + Number(part), 0)
  return { rss_mib: Number(rss_kib) / 1024, cpu_us: seconds * 1e6 }
}
