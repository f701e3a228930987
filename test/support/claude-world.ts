/**
 * The real Claude Code in a world without a network, with a throw-away HOME and a key that is none.
 */
import type { ChildProcess } from 'node:child_process'
import fs from 'node:fs'
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
import type { ConfigInput } from '../../src/contracts/config.ts'

const API_KEY = 'sk-ant-api03-no-key-at-all-0000000000000000'

export interface ClaudeWorld extends ClientWorld {
  /** `claude -p` with JSON lines in both directions. */
  headless(args?: readonly string[]): Headless
  /** The client's own record of the session that is open, null where there is none. */
  registry(): { pid: number; status?: string } | null
  /** The client's own records of what was said. */
  transcript(): string
  /** Lines the worker wrote into its log. */
  workerLog(): { msg: string; pid: number; [field: string]: unknown }[]
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

export interface ClaudeOptions {
  /** Where a scene would wait long for the usual settings. */
  daemon?: ConfigInput['daemon']
  persona?: Partial<PersonaInput>
  /** More of the client's environment. */
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
      clients: { claude_code: claudeProgram() },
      personas: { [PERSONA]: { surface: 'claude-code', ...options.persona } },
    },
    seed({ user, project }) {
      seedClient(user, project)
      return {}
    },
    // The daemon's, too: it starts the client that has no window.
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

export async function openClaudeWorld(options: ClaudeOptions = {}): Promise<ClaudeWorld> {
  const world = await openClientWorld(claudeSpec(options))
  const workerLog: ClaudeWorld['workerLog'] = () => world.log(`${PERSONA}~claude-code.log`)
  return {
    ...world,
    workerLog,
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

/**
 * An environment in which the session's worker finds its inbox elsewhere, or none: every Node process in it
 * begins with that. A relative place is beside the client's home.
 */
export function inboxIs(place: string | null): Record<string, string> {
  const name = 'process.env.CLAUDE_CODE_MESSAGING_SOCKET'
  const code =
    place === null ? `delete ${name}` : `${name} &&= process.env.HOME + ${JSON.stringify(`/../${place}`)}`
  return { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(code)}` }
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
