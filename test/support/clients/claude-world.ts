/** The real Claude Code without a network, with a temporary HOME and a fake key. */
import { execFileSync, type ChildProcess } from 'node:child_process'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { anthropicApi } from './anthropic-api.ts'
import {
  MODEL_PORT,
  openClientWorld,
  PERSONA,
  type ClientSpec,
  type ClientWorld,
  type PersonaInput,
} from './client-world.ts'
import { eventually } from '../eventually.ts'
import { installedProgram } from './installed-clients.ts'
import { usesModule } from '../../../scripts/client-packages.mjs'
import type { ConfigInput } from '../../../src/contracts/config.ts'

const API_KEY = 'sk-ant-api03-no-key-at-all-0000000000000000'

export interface ClaudeWorld extends ClientWorld {
  /** Starts `claude -p` with JSON lines in both directions. */
  headless(args?: readonly string[]): Headless
  /** Resolves when `status` names this way to reach the session. */
  isReached(via: string): Promise<unknown>
  /** Returns the client's own registry entry of the open session, null without one. */
  registry(): { pid: number; status?: string } | null
  /** Returns the client's own transcript. */
  transcript(): string
  /** Returns the lines of the worker's log. */
  workerLog(): { msg: string; pid: number; [field: string]: unknown }[]
}

export interface Headless {
  /** Sends one prompt of the user. */
  say(text: string): void
  /** Sends the client's own interrupt request. */
  interrupt(): void
  lines: { type: string; [field: string]: unknown }[]
  exited: Promise<number | null>
  close(): Promise<void>
}

/** Returns the real client's program, as installed by `scripts/fetch-clients.mjs`. */
export function claudeProgram(): string {
  const folder = `@anthropic-ai/claude-code-${process.platform}-${process.arch}`
  return installedProgram('@anthropic-ai/claude-code', `${folder}/claude`)
}

/** Writes a program to `directory` that runs the client with these settings of an organisation, in its own mount namespace. */
function managedProgram(directory: string, settings: object): string {
  const etc = path.join(directory, 'etc')
  execFileSync('cp', ['-a', '/etc', etc])
  fs.mkdirSync(path.join(etc, 'claude-code'), { recursive: true })
  fs.writeFileSync(path.join(etc, 'claude-code', 'managed-settings.json'), JSON.stringify(settings))
  const program = `${etc}-claude`
  const mounted = `mount --bind '${etc}' /etc && exec "$@"`
  fs.writeFileSync(
    program,
    `#!/bin/sh\nexec unshare --mount sh -c '${mounted.replaceAll("'", `'\\''`)}' sh '${claudeProgram()}' "$@"\n`,
    { mode: 0o755 },
  )
  return program
}

export interface ClaudeOptions {
  /** Settings of the daemon that shorten long waits. */
  daemon?: ConfigInput['daemon']
  persona?: Partial<PersonaInput>
  /** Whether the module reports the turns instead of the hooks; the default is chosen by the run. */
  module?: boolean
  /** Whether the module shows anything in the client. */
  ui?: boolean
  /** The client's program, if it is another one. */
  program?: string
  /** Additional environment variables of the client. */
  env?: Record<string, string>
  model_port?: number
}

export function claudeSpec(options: ClaudeOptions = {}): ClientSpec {
  const model_port = options.model_port ?? MODEL_PORT
  return {
    api: anthropicApi,
    model_port,
    config: {
      daemon: options.daemon ?? {},
      clients: {
        claude_code: options.program ?? claudeProgram(),
      },
      claude_code: { module: options.module ?? usesModule(), ui: options.ui ?? true },
      personas: { [PERSONA]: { surface: 'claude-code', ...options.persona } },
    },
    seed({ user, project }) {
      seedClient(user, project)
      return {}
    },
    // Also for the daemon, because it starts a client that has no window.
    env: {
      IS_SANDBOX: '1',
      ANTHROPIC_BASE_URL: `http://127.0.0.1:${model_port}`,
      ANTHROPIC_API_KEY: API_KEY,
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
      DISABLE_TELEMETRY: '1',
      DISABLE_AUTOUPDATER: '1',
      DISABLE_ERROR_REPORTING: '1',
      ...options.env,
    },
  }
}

export interface ClaudeWorldOptions extends Omit<ClaudeOptions, 'program'> {
  /** An organisation's settings, which the client reads from /etc. Only as root. */
  managed?: object
}

export async function openClaudeWorld({
  managed,
  ...options
}: ClaudeWorldOptions = {}): Promise<ClaudeWorld> {
  const world = await openManaged(options, managed)
  const workerLog: ClaudeWorld['workerLog'] = () => world.log(`${PERSONA}~claude-code.log`)
  return {
    ...world,
    workerLog,
    isReached: (via) =>
      eventually(`the session is reached by ${via}`, async () => (await world.status()).surface.via === via),
    headless(args = []) {
      const formats = ['--input-format', 'stream-json', '--output-format', 'stream-json', '--verbose']
      const headless = talkTo(world.run(['-p', ...formats, ...args], { stdio: ['pipe', 'pipe', 'inherit'] }))
      world.onClose(() => headless.close())
      return headless
    },
    transcript() {
      const folder = path.join(world.user, '.claude', 'projects')
      const files = fs.existsSync(folder) ? fs.readdirSync(folder, { recursive: true, encoding: 'utf8' }) : []
      const records = files.filter((name) => name.endsWith('.jsonl'))
      return records.map((name) => fs.readFileSync(path.join(folder, name), 'utf8')).join('')
    },
    registry() {
      const folder = path.join(world.user, '.claude', 'sessions')
      const [file] = fs.existsSync(folder)
        ? fs.readdirSync(folder).filter((name) => name.endsWith('.json'))
        : []
      if (file === undefined) return null
      return JSON.parse(fs.readFileSync(path.join(folder, file), 'utf8')) as { pid: number; status?: string }
    },
    story: () => [...workerLog().map((line) => JSON.stringify(line)), world.story()].join('\n'),
  }
}

async function openManaged(options: ClaudeOptions, managed: object | undefined): Promise<ClientWorld> {
  if (managed === undefined) return openClientWorld(claudeSpec(options))
  const directory = fs.mkdtempSync(path.join(os.tmpdir(), 'tbc-etc-'))
  const world = await openClientWorld(claudeSpec({ ...options, program: managedProgram(directory, managed) }))
  world.onClose(() => fs.rmSync(directory, { recursive: true, force: true }))
  return world
}

/**
 * Returns an environment in which the session's worker looks for its inbox at another place, or finds none. Every Node
 * process in it loads the code that does this. A relative place is resolved from the client's home.
 */
export function inboxIs(place: string | null): Record<string, string> {
  const name = 'process.env.CLAUDE_CODE_MESSAGING_SOCKET'
  const code =
    place === null ? `delete ${name}` : `${name} &&= process.env.HOME + ${JSON.stringify(`/../${place}`)}`
  return { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(code)}` }
}

/** Answers in advance what the first start would ask the user: theme, trust in the folder, key. */
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
