/** The real Codex without a network, with a temporary CODEX_HOME and no login. */
import fs from 'node:fs'
import path from 'node:path'
import {
  MODEL_PORT,
  openClientWorld,
  PERSONA,
  type ClientSpec,
  type ClientWorld,
  type PersonaInput,
} from './client-world.ts'
import { eventually } from '../eventually.ts'
import { openaiApi } from './openai-api.ts'
import type { ClientTools } from './scene.ts'
import { installedProgram } from './installed-clients.ts'
import type { ConfigInput } from '../../../src/contracts/config.ts'

/** Returns npm's wrapper, which a user would have on PATH. */
export function codexProgram(): string {
  return installedProgram('@openai/codex', '.bin/codex')
}

export const CODEX_TOOLS: ClientTools = {
  drain: 'mcp__turnbell.signals_pending',
  shell: (cmd) => ({ name: 'exec_command', input: { cmd, yield_time_ms: 30_000 } }),
}

export interface CodexOptions {
  daemon?: ConfigInput['daemon']
  /** Whether the client asks the user before it runs anything outside its sandbox. */
  asks?: boolean
  persona?: Partial<PersonaInput>
  /** Additional personas. */
  others?: ConfigInput['personas']
  model_port?: number
}

export async function openCodexWorld(options: CodexOptions = {}): Promise<ClientWorld> {
  const world = await openClientWorld(codexSpec(options))
  world.onClose(() => endSharedServer(world))
  return world
}

export function codexSpec(options: CodexOptions = {}): ClientSpec {
  const model_port = options.model_port ?? MODEL_PORT
  return {
    api: openaiApi,
    model_port,
    config: {
      daemon: options.daemon ?? {},
      clients: { codex: codexProgram() },
      personas: { [PERSONA]: { surface: 'codex', ...options.persona }, ...options.others },
    },
    seed({ user, project }) {
      const home = path.join(user, '.codex')
      fs.mkdirSync(home)
      fs.writeFileSync(path.join(home, 'config.toml'), settings(project, options.asks === true, model_port))
      return {}
    },
  }
}

/** Ends the server that a plain `codex` deliberately keeps running in the world's home. */
async function endSharedServer({ directory, user }: ClientWorld): Promise<void> {
  const home = path.join(user, '.codex', 'packages')
  const isServer = ({ words }: Running) => words[0]?.startsWith(home) === true
  const isBridge = ({ words }: Running) =>
    words.includes('mcp') && words.includes(path.join(directory, 'turnbell'))
  await eventually('the shared app-server and its bridges have ended', () => {
    const left = running().filter((one) => isServer(one) || isBridge(one))
    for (const { pid } of left.filter(isServer)) process.kill(pid, 'SIGKILL')
    return left.length === 0
  })
}

interface Running {
  pid: number
  words: string[]
}

function running(): Running[] {
  const pids = fs.readdirSync('/proc').filter((name) => /^[0-9]+$/.test(name))
  return pids.map((pid) => ({ pid: Number(pid), words: commandOf(pid).split('\0') }))
}

function commandOf(pid: string): string {
  try {
    return fs.readFileSync(`/proc/${pid}/cmdline`, 'utf8')
  } catch {
    return ''
  }
}

function settings(project: string, asks: boolean, model_port: number): string {
  return `
model = "scripted"
model_provider = "scripted"
approval_policy = "${asks ? 'on-request' : 'never'}"
sandbox_mode = "${asks ? 'read-only' : 'danger-full-access'}"
check_for_update_on_startup = false
[model_providers.scripted]
name = "scripted"
base_url = "http://127.0.0.1:${model_port}/v1"
wire_api = "responses"
requires_openai_auth = false
request_max_retries = 0
stream_max_retries = 0
supports_websockets = false
[projects."${project}"]
trust_level = "trusted"
`
}
