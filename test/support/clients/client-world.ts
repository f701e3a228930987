/**
 * The common base of all scenes with a real client: a network namespace without a network, a scripted model, a real
 * hub, a real daemon, and terminals. `turnbell run` starts the client, as for a user.
 */
import type { ChildProcess, SpawnOptions } from 'node:child_process'
import fs from 'node:fs'
import http from 'node:http'
import os from 'node:os'
import path from 'node:path'
import { eventually } from '../eventually.ts'
import { createModelServer, type ModelApi, type ModelServer } from './model-server.ts'
import { goOffline } from './offline.ts'
import { BIN, cleanEnvironment } from '../processes/processes.ts'
import { openTerminal, type Terminal, type TerminalSize } from './terminal.ts'
import { createControlClient } from '../../../src/cli/control-client.ts'
import type { ConfigInput } from '../../../src/contracts/config.ts'
import type { DaemonStatus, NotifyResult } from '../../../src/contracts/control.ts'
import type { Turn } from '../../../src/contracts/registry.ts'
import type { SignalView } from '../../../src/contracts/signal.ts'
import { personaPaths, resolveHome } from '../../../src/system/config/home.ts'

const HUB_PORT = 4888
/** Port at which the client reaches the model. */
export const MODEL_PORT = 18_080
/** The default persona of a scene. */
export const PERSONA = 'ada'
/** A killed process may still have created a file there. */
const REMOVAL = { recursive: true, force: true, maxRetries: 20 } as const
export type PersonaInput = NonNullable<ConfigInput['personas']>[string]

export interface Service {
  child: ChildProcess
  output(): string
  kill(os_signal?: NodeJS.Signals): Promise<void>
}

export interface ClientWorld {
  directory: string
  project: string
  /** The client's home directory. */
  user: string
  model: ModelServer
  /** Models at the additional ports that the scene requested. */
  models: Record<number, ModelServer>
  startHub(): Promise<Service>
  startDaemon(persona?: string): Promise<Service>
  /** When each receipt arrived, in monotonic milliseconds. */
  sent_at: number[]
  /** Sends a signal from the operator to the persona. Resolves with its id once it is durable. */
  send(payload: string, to?: string): Promise<string>
  /** Calls any action as the operator. */
  call<T>(facade: string, action: string, params: object): Promise<T>
  read(signal_id: string): Promise<SignalView>
  /** Returns the status from the daemon's control socket. */
  status(persona?: string): Promise<DaemonStatus>
  /** Requests a doorbell now, like `turnbell notify`. */
  notify(persona?: string): Promise<NotifyResult>
  /** Resolves when the daemon has read the hub's list. Signals sent before that are backlog, which does not ring. */
  connected(persona?: string): Promise<unknown>
  /** Resolves when the daemon reports the session's turn in this state. */
  turnIs(turn: Turn, persona?: string): Promise<void>
  /** Resolves when every signal has been drained, shown to a model and confirmed, and the session is at its prompt. */
  settled(signal_ids: readonly string[]): Promise<void>
  /** Starts `turnbell run` for the persona, in a terminal. */
  terminal(args?: readonly string[], persona?: string): Terminal
  /** Starts `turnbell run` without a terminal. */
  run(args: readonly string[], options: SpawnOptions): ChildProcess
  /** Starts any program in a terminal, with the client's environment. */
  terminalOf(argv: readonly string[], size?: TerminalSize): Terminal
  /** Starts any program without a terminal, with the client's environment. */
  spawn(argv: readonly string[], options: SpawnOptions): ChildProcess
  /** Returns the parsed JSON lines of a file in the home's `logs/`. */
  log<T>(name: string): T[]
  /** Returns the model's requests and the daemon's log, for the report of a failed scene. */
  story(): string
  /** Registers a function to call before anything opened earlier is closed. */
  onClose(close: () => Promise<unknown> | void): void
  close(): Promise<void>
  /** Ends everything that `close` ends without waiting for it, for an exit handler. */
  kill(): void
}

export interface ClientSpec {
  api: ModelApi
  config: ConfigInput
  /** Creates the client's home. Returns additional environment variables of the client. */
  seed(at: { user: string; project: string }): Record<string, string>
  /** Additional environment variables of the daemon, which the client inherits. */
  env?: Record<string, string>
  /** Port of `api`; MODEL_PORT by default. */
  model_port?: number
  /** Models at their own ports, for additional clients. */
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
    // Only the scene starts the hub.
    TURNBELL_NO_AUTOSTART: '1',
    ...spec.env,
  })
  const clientEnv = { ...env, LANG: 'C.UTF-8', TERM: 'xterm-256color', ...own }
  const words = (args: readonly string[], persona: string) => [
    ...[process.execPath, BIN, 'run', '--persona', persona, '--'],
    ...args,
  ]

  /** The daemon's socket is in the file system, which the network namespace shares. */
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
  /** Calls any action at the hub through the relay. Waits for a hub that is down. */
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
      // A client that its daemon starts may need longer.
      await eventually(`the session of ${persona} is ${turn}`, reached, 60_000)
    },
    async settled(signal_ids) {
      for (const signal_id of signal_ids) {
        await eventually(
          `${signal_id} is confirmed`,
          async () => (await world.read(signal_id)).stages.confirmed_at,
          60_000,
        )
        // If a client does not report its turns, the hub's response confirms before the model has seen the signals.
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
      fs.rmSync(directory, REMOVAL)
    },
    kill() {
      offline.kill()
      fs.rmSync(directory, REMOVAL)
    },
  }
  return world
}

/** Returns the pid of the process that the persona's shim manages, from its note: `codex`, `opencode`, `acp`. */
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
