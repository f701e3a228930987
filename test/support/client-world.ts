/**
 * What every scene with a real client stands on: a place without a network, a scripted model, a real hub,
 * a real daemon, and terminals for the client, which is started by `turnbell run` as a person would.
 */
import type { ChildProcess, SpawnOptions } from 'node:child_process'
import fs from 'node:fs'
import http from 'node:http'
import os from 'node:os'
import path from 'node:path'
import { eventually } from './eventually.ts'
import { createModelServer, type ModelApi, type ModelServer } from './model-server.ts'
import { goOffline } from './offline.ts'
import { BIN, cleanEnvironment } from './processes.ts'
import { openTerminal, type Terminal, type TerminalSize } from './terminal.ts'
import { createControlClient } from '../../src/cli/control-client.ts'
import type { ConfigInput } from '../../src/contracts/config.ts'
import type { DaemonStatus, NotifyResult } from '../../src/contracts/control.ts'
import type { Turn } from '../../src/contracts/registry.ts'
import type { SignalView } from '../../src/contracts/signal.ts'
import { personaPaths, resolveHome } from '../../src/system/home.ts'

const HUB_PORT = 4888
/** Where the model answers, as the client sees it. */
export const MODEL_PORT = 18_080
/** Who is meant where a scene names nobody. */
export const PERSONA = 'ada'
export type PersonaInput = NonNullable<ConfigInput['personas']>[string]

export interface Service {
  child: ChildProcess
  output(): string
  kill(os_signal?: NodeJS.Signals): Promise<void>
}

export interface ClientWorld {
  directory: string
  project: string
  /** The client's own home. */
  user: string
  model: ModelServer
  /** Those at the other ports that the scene asked for. */
  models: Record<number, ModelServer>
  startHub(): Promise<Service>
  startDaemon(persona?: string): Promise<Service>
  /** When each receipt came; monotonic milliseconds. */
  sent_at: number[]
  /** A signal to the persona, from the operator. Resolves with its id once it is durable. */
  send(payload: string, to?: string): Promise<string>
  /** Any action, as the operator. */
  call<T>(facade: string, action: string, params: object): Promise<T>
  read(signal_id: string): Promise<SignalView>
  /** What the daemon's control socket says. */
  status(persona?: string): Promise<DaemonStatus>
  /** Asks for a bell now, as a person may. */
  notify(persona?: string): Promise<NotifyResult>
  /** The daemon has read the hub's list: what is sent before that is backlog, which rings nobody by itself. */
  connected(persona?: string): Promise<unknown>
  /** The daemon sees the session's turn in this state. */
  turnIs(turn: Turn, persona?: string): Promise<void>
  /** Every signal has been drained, shown to a model and confirmed, and the session stands at its prompt. */
  settled(signal_ids: readonly string[]): Promise<void>
  /** `turnbell run` for the persona, in a terminal. */
  terminal(args?: readonly string[], persona?: string): Terminal
  /** The same without one. */
  run(args: readonly string[], options: SpawnOptions): ChildProcess
  /** Any program in a terminal, with the client's environment. */
  terminalOf(argv: readonly string[], size?: TerminalSize): Terminal
  /** Any program without a terminal, with the client's environment. */
  spawn(argv: readonly string[], options: SpawnOptions): ChildProcess
  /** A line of JSON each, of a file in the home's `logs/`. */
  log<T>(name: string): T[]
  /** What the model was shown and the daemon saw, for a scene that failed. */
  story(): string
  /** Called before what was there earlier is closed. */
  onClose(close: () => Promise<unknown> | void): void
  close(): Promise<void>
}

export interface ClientSpec {
  api: ModelApi
  config: ConfigInput
  /** Makes the client's home. Answers what its environment needs besides. */
  seed(at: { user: string; project: string }): Record<string, string>
  /** What the daemon's environment needs besides, and so the client's. */
  env?: Record<string, string>
  /** Where `api` answers; usually MODEL_PORT. */
  model_port?: number
  /** Models at ports of their own, for clients that work beside this one. */
  others?: { port: number; api: ModelApi }[]
}

export async function openClientWorld(spec: ClientSpec): Promise<ClientWorld> {
  const directory = fs.mkdtempSync(path.join(os.tmpdir(), 'tbc-'))
  const at = (name: string) => path.join(directory, name)
  for (const name of ['user', 'project', 'tmp']) fs.mkdirSync(at(name))
  fs.mkdirSync(at('turnbell'), { mode: 0o700 })
  const project = fs.realpathSync(at('project'))
  const own = spec.seed({ user: at('user'), project })
  // YAML is a superset of JSON.
  fs.writeFileSync(
    path.join(at('turnbell'), 'config.yaml'),
    JSON.stringify({ log: { level: 'debug' }, ...spec.config }),
  )

  const offline = await goOffline()
  const models: Record<number, ModelServer> = {}
  for (const { port, api } of [
    { port: spec.model_port ?? MODEL_PORT, api: spec.api },
    ...(spec.others ?? []),
  ]) {
    const { server } = (models[port] = createModelServer(api))
    const socket = at(`model-${port}.sock`)
    await new Promise<void>((resolve) => server.listen(socket, resolve))
    await offline.relay({ port }, { socket })
  }
  const model = models[spec.model_port ?? MODEL_PORT]!
  await offline.relay({ socket: at('hub.sock') }, { port: HUB_PORT })

  const closers: (() => Promise<unknown> | void)[] = []
  const terminals: Terminal[] = []
  const env = cleanEnvironment({
    HOME: at('user'),
    TMPDIR: at('tmp'),
    TURNBELL_HOME: at('turnbell'),
    // Only the scene decides when a hub runs.
    TURNBELL_NO_AUTOSTART: '1',
    ...spec.env,
  })
  const clientEnv = { ...env, LANG: 'C.UTF-8', TERM: 'xterm-256color', ...own }
  const words = (args: readonly string[], persona: string) => [
    ...[process.execPath, BIN, 'run', '--persona', persona, '--'],
    ...args,
  ]

  /** The daemon's socket lies in the file system, which the place without a network shares. */
  const home = resolveHome({}, at('turnbell'))
  const daemonOf = (persona: string) =>
    createControlClient(persona, personaPaths(home, 'local', persona, env))

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

  const world: ClientWorld = {
    directory,
    project,
    user: at('user'),
    model,
    models,
    sent_at: [],
    startHub: () => service(['hub', '--port', String(HUB_PORT)], /^turnbell hub ready/m),
    startDaemon: (persona = PERSONA) => service(['daemon', '--persona', persona], /^turnbell daemon ready/m),
    call,
    send: async (payload, to = PERSONA) => {
      const receipt = await call<{ signal_id: string }>('signals', 'send', {
        to,
        intent: 'scene',
        payload,
        idempotency_key: payload,
      })
      world.sent_at.push(performance.now())
      return receipt.signal_id
    },
    read: (signal_id) => call<SignalView>('signals', 'read', { signal_id }),
    status: (persona = PERSONA) => daemonOf(persona).status(),
    notify: (persona = PERSONA) => daemonOf(persona).notify(),
    connected: (persona = PERSONA) =>
      eventually(
        `the daemon of ${persona} is connected`,
        async () => (await world.status(persona)).connected,
      ),
    turnIs: async (turn, persona = PERSONA) => {
      const reached = async () => {
        const { surface } = await world.status(persona)
        return surface.attached && surface.turn === turn
          ? true
          : Promise.reject(new Error(JSON.stringify(surface)))
      }
      // A client that its daemon starts may take its time.
      await eventually(`the session of ${persona} is ${turn}`, reached, 60_000)
    },
    async settled(signal_ids) {
      for (const signal_id of signal_ids) {
        await eventually(
          `${signal_id} is confirmed`,
          async () => (await world.read(signal_id)).stages.confirmed_at,
          60_000,
        )
        // Where a client says nothing of its turns, the hub's answer confirms before the model has seen it.
        await eventually(`${signal_id} is shown to a model`, () => wasShown(models, signal_id))
      }
      await world.turnIs('idle')
    },
    terminal: (args = [], persona = PERSONA) => world.terminalOf(words(args, persona)),
    terminalOf(argv, size) {
      const terminal = openTerminal({ offline, argv, cwd: project, env: clientEnv, directory, ...size })
      closers.push(() => terminal.close())
      terminals.push(terminal)
      return terminal
    },
    run: (args, options) => world.spawn(words(args, PERSONA), options),
    spawn: (argv, options) => offline.spawn(argv, { cwd: project, env: clientEnv, ...options }),
    log<T>(name: string) {
      const file = path.join(at('turnbell'), 'logs', name)
      if (!fs.existsSync(file)) return []
      const lines = fs.readFileSync(file, 'utf8').split('\n').filter(Boolean)
      return lines.map((line) => JSON.parse(line) as T)
    },
    story: () =>
      [
        ...model.shown.map(({ n, role, fresh, reply }) => JSON.stringify({ n, role, fresh, reply })),
        ...world.log(`${PERSONA}.log`).map((line) => JSON.stringify(line)),
        ...terminals.map(lastScreen),
      ].join('\n'),
    onClose: (close) => void closers.push(close),
    async close() {
      for (const close of closers.reverse()) await close()
      for (const each of Object.values(models)) await each.close()
      await offline.close()
      fs.rmSync(directory, { recursive: true, force: true })
    },
  }
  return world
}

/** The process that the persona's shim keeps, as it noted it: `codex`, `opencode`, `acp`. */
export function notedPid({ directory }: ClientWorld, what: string): number {
  const file = path.join(directory, 'turnbell/run/local', PERSONA, `${what}.pid`)
  return (JSON.parse(fs.readFileSync(file, 'utf8')) as { pid: number }).pid
}

function lastScreen(terminal: Terminal, index: number): string {
  try {
    return `terminal ${index + 1}:\n${terminal.screen()}`
  } catch {
    return `terminal ${index + 1} has ended`
  }
}

function wasShown(models: Record<number, ModelServer>, signal_id: string): boolean {
  const results = Object.values(models).flatMap(({ shown }) =>
    shown.flatMap(({ tool_results }) => tool_results),
  )
  return results.some((result) => result.includes(signal_id))
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
