/**
 * Everything a scene with the real Claude Code stands on: a place without a network, a scripted model,
 * a real hub, a real daemon and the client itself, started by `turnbell run` as a person would.
 *
 * The client gets a throw-away HOME and a key that is none.
 */
import type { ChildProcess } from 'node:child_process'
import fs from 'node:fs'
import http from 'node:http'
import os from 'node:os'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { eventually } from './eventually.ts'
import { createModelServer, type ModelServer } from './model-server.ts'
import { goOffline } from './offline.ts'
import { BIN, cleanEnvironment } from './processes.ts'
import { openTerminal, type Terminal } from './terminal.ts'
import type { ConfigInput } from '../../src/contracts/config.ts'
import type { DaemonStatus } from '../../src/contracts/control.ts'
import type { SignalView } from '../../src/contracts/signal.ts'

const HUB_PORT = 4888
const MODEL_PORT = 18_080
const API_KEY = 'sk-ant-api03-no-key-at-all-0000000000000000'
export const PERSONA = 'ada'

export interface Service {
  child: ChildProcess
  output(): string
  kill(os_signal?: NodeJS.Signals): Promise<void>
}

export interface ClaudeWorld {
  directory: string
  project: string
  model: ModelServer
  startHub(): Promise<Service>
  startDaemon(): Promise<Service>
  /** When each receipt came; monotonic milliseconds. */
  sent_at: number[]
  /** A signal to the persona, from the operator. Resolves with its id once it is durable. */
  send(payload: string): Promise<string>
  read(signal_id: string): Promise<SignalView>
  /** What the daemon's control socket says. */
  status(): Promise<DaemonStatus>
  /** The daemon sees the session's turn in this state. */
  turnIs(turn: 'idle' | 'busy'): Promise<void>
  terminal(args?: readonly string[]): Terminal
  /** `claude -p` with JSON lines in both directions. */
  headless(args?: readonly string[]): Headless
  /** The client's own record of the session that is open, null where there is none. */
  registry(): { status?: string } | null
  /** Lines the worker wrote into its log. */
  workerLog(): { msg: string; pid: number; [field: string]: unknown }[]
  /** What the worker wrote and what the model was shown, for a scene that failed. */
  story(): string
  close(): Promise<void>
}

export interface Headless {
  /** One prompt of the user. */
  say(text: string): void
  /** The client's own way to interrupt a turn. */
  interrupt(): void
  lines: { type: string; [field: string]: unknown }[]
  exited: Promise<number | null>
  close(): Promise<void>
}

/** The real client's program, as `scripts/fetch-clients.mjs` installed it. */
export function claudeProgram(): string {
  const folder = path.resolve(import.meta.dirname, '../../.clients/node_modules/@anthropic-ai')
  const program = path.join(folder, `claude-code-${process.platform}-${process.arch}`, 'claude')
  if (!fs.existsSync(program))
    throw new Error(`Claude Code is missing at ${program}: run node scripts/fetch-clients.mjs`)
  return program
}

/** `daemon` overrides the daemon's settings, where a scene would wait long for the usual ones. */
export async function openClaudeWorld(daemon: ConfigInput['daemon'] = {}): Promise<ClaudeWorld> {
  const directory = fs.mkdtempSync(path.join(os.tmpdir(), 'tbc-'))
  const at = (name: string) => path.join(directory, name)
  for (const name of ['user', 'project', 'tmp']) fs.mkdirSync(at(name))
  fs.mkdirSync(at('turnbell'), { mode: 0o700 })
  const project = fs.realpathSync(at('project'))
  seedClient(at('user'), project)
  // YAML is a superset of JSON.
  fs.writeFileSync(
    path.join(at('turnbell'), 'config.yaml'),
    JSON.stringify({
      log: { level: 'debug' },
      daemon,
      clients: { claude_code: claudeProgram() },
      personas: { [PERSONA]: { surface: 'claude-code' } },
    }),
  )

  const offline = await goOffline()
  const model = createModelServer()
  await new Promise<void>((resolve) => model.server.listen(at('model.sock'), resolve))
  await offline.relay({ port: MODEL_PORT }, { socket: at('model.sock') })
  await offline.relay({ socket: at('hub.sock') }, { port: HUB_PORT })

  const closers: (() => Promise<unknown> | void)[] = []
  const env = cleanEnvironment({
    HOME: at('user'),
    TMPDIR: at('tmp'),
    TURNBELL_HOME: at('turnbell'),
    // Only the scene decides when a hub runs.
    TURNBELL_NO_AUTOSTART: '1',
  })
  const clientEnv = {
    ...env,
    IS_SANDBOX: '1',
    LANG: 'C.UTF-8',
    TERM: 'xterm-256color',
    ANTHROPIC_BASE_URL: `http://127.0.0.1:${MODEL_PORT}`,
    ANTHROPIC_API_KEY: API_KEY,
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
    DISABLE_TELEMETRY: '1',
    DISABLE_AUTOUPDATER: '1',
    DISABLE_ERROR_REPORTING: '1',
  }

  async function service(args: readonly string[], ready: RegExp): Promise<Service> {
    const child = offline.spawn([process.execPath, BIN, ...args], { env, stdio: ['ignore', 'pipe', 'pipe'] })
    let output = ''
    for (const stream of [child.stdout, child.stderr])
      stream?.on('data', (chunk: Buffer) => (output += chunk.toString()))
    const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()))
    const running: Service = {
      child,
      output: () => output,
      async kill(os_signal = 'SIGKILL') {
        if (child.exitCode === null && child.signalCode === null) child.kill(os_signal)
        await exited
      },
    }
    closers.push(() => running.kill('SIGTERM'))
    await eventually(`turnbell ${args.join(' ')} is ready`, () => {
      if (child.exitCode !== null) throw new Error(output)
      return ready.test(output)
    })
    return running
  }

  const operator = () => fs.readFileSync(path.join(at('turnbell'), 'secrets/operator.token'), 'utf8').trim()
  /** Any action at the hub, through the relay. A hub that is away is waited for. */
  const call = <T>(tool: string, action: string, params: object) =>
    eventually(`${tool} ${action}`, async () => {
      const { result } = (await post(at('hub.sock'), '/call', operator(), { tool, action, params })) as {
        result: T
      }
      return result
    })

  const world: ClaudeWorld = {
    directory,
    project,
    model,
    sent_at: [],
    startHub: () => service(['hub', '--port', String(HUB_PORT)], /^turnbell hub ready/m),
    startDaemon: () => service(['daemon', '--persona', PERSONA], /^turnbell daemon ready/m),
    send: async (payload) => {
      const receipt = await call<{ signal_id: string }>('signals', 'send', {
        to: PERSONA,
        intent: 'scene',
        payload,
        idempotency_key: payload,
      })
      world.sent_at.push(performance.now())
      return receipt.signal_id
    },
    read: (signal_id) => call<SignalView>('signals', 'read', { signal_id }),
    status: async () => {
      const child = offline.spawn([process.execPath, BIN, 'status', '--persona', PERSONA, '--json'], {
        env,
        stdio: ['ignore', 'pipe', 'ignore'],
      })
      const lines: string[] = []
      for await (const chunk of child.stdout as AsyncIterable<Buffer>) lines.push(chunk.toString())
      const answer = JSON.parse(lines.join('')) as DaemonStatus | { status: DaemonStatus }
      return 'status' in answer ? answer.status : answer
    },
    turnIs: async (turn) => {
      await eventually(`the session is ${turn}`, async () => {
        const { surface } = await world.status()
        return surface.attached && surface.turn === turn
          ? true
          : Promise.reject(new Error(JSON.stringify(surface)))
      })
    },
    terminal(args = []) {
      const terminal = openTerminal({
        offline,
        argv: [process.execPath, BIN, 'run', '--persona', PERSONA, '--', ...args],
        cwd: project,
        env: clientEnv,
        directory,
      })
      closers.push(() => terminal.close())
      return terminal
    },
    headless(args = []) {
      const formats = ['--input-format', 'stream-json', '--output-format', 'stream-json', '--verbose']
      const child = offline.spawn(
        [process.execPath, BIN, 'run', '--persona', PERSONA, '--', '-p', ...formats, ...args],
        {
          cwd: project,
          env: clientEnv,
          stdio: ['pipe', 'pipe', 'inherit'],
        },
      )
      const headless = talkTo(child)
      closers.push(() => headless.close())
      return headless
    },
    registry() {
      const folder = path.join(at('user'), '.claude', 'sessions')
      const [file] = fs.existsSync(folder)
        ? fs.readdirSync(folder).filter((name) => name.endsWith('.json'))
        : []
      if (file === undefined) return null
      return JSON.parse(fs.readFileSync(path.join(folder, file), 'utf8')) as { status?: string }
    },
    workerLog() {
      const file = path.join(at('turnbell'), 'logs', `${PERSONA}~claude-code.log`)
      if (!fs.existsSync(file)) return []
      const lines = fs.readFileSync(file, 'utf8').split('\n').filter(Boolean)
      return lines.map((line) => JSON.parse(line) as ReturnType<ClaudeWorld['workerLog']>[number])
    },
    story: () =>
      [
        ...world.workerLog().map((line) => JSON.stringify(line)),
        ...model.shown.map(({ n, role, fresh, reply }) => JSON.stringify({ n, role, fresh, reply })),
      ].join('\n'),
    async close() {
      for (const close of closers.reverse()) await close()
      await model.close()
      await offline.close()
      fs.rmSync(directory, { recursive: true, force: true })
    },
  }
  return world
}

/** What the first start would otherwise ask a person: theme, trust in the folder, the key. */
function seedClient(home: string, project: string): void {
  const answers = {
    hasCompletedOnboarding: true,
    theme: 'dark',
    bypassPermissionsModeAccepted: true,
    customApiKeyResponses: { approved: [API_KEY.slice(-20)], rejected: [] },
    projects: { [project]: { hasTrustDialogAccepted: true, hasCompletedProjectOnboarding: true } },
  }
  fs.writeFileSync(path.join(home, '.claude.json'), JSON.stringify(answers))
}

function talkTo(child: ChildProcess): Headless {
  const lines: Headless['lines'] = []
  createInterface({ input: child.stdout as NodeJS.ReadableStream }).on('line', (line) => {
    lines.push(JSON.parse(line) as Headless['lines'][number])
  })
  const exited = new Promise<number | null>((resolve) => child.once('exit', (code) => resolve(code)))
  const write = (line: object) => void child.stdin?.write(`${JSON.stringify(line)}\n`)
  let asked = 0
  return {
    lines,
    exited,
    say: (text) => write({ type: 'user', message: { role: 'user', content: text } }),
    interrupt: () =>
      write({ type: 'control_request', request_id: `ask-${++asked}`, request: { subtype: 'interrupt' } }),
    async close() {
      child.stdin?.end()
      await exited
    },
  }
}

function post(socketPath: string, route: string, token: string, body: object): Promise<unknown> {
  const text = JSON.stringify(body)
  return new Promise((resolve, reject) => {
    const request = http.request(
      {
        socketPath,
        path: route,
        method: 'POST',
        headers: {
          host: `127.0.0.1:${HUB_PORT}`,
          authorization: `Bearer ${token}`,
          'content-type': 'application/json',
          'content-length': Buffer.byteLength(text),
        },
      },
      (response) => {
        const chunks: Buffer[] = []
        response.on('data', (chunk: Buffer) => chunks.push(chunk))
        response.on('end', () => {
          const answer = Buffer.concat(chunks).toString()
          if (response.statusCode === 200) resolve(JSON.parse(answer))
          else reject(new Error(`${route}: ${response.statusCode} ${answer}`))
        })
      },
    )
    request.on('error', reject)
    request.end(text)
  })
}
