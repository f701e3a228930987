/** The real opencode in a world without a network, with a home of its own and no login. */
import fs from 'node:fs'
import path from 'node:path'
import { chatApi } from './chat-api.ts'
import {
  MODEL_PORT,
  openClientWorld,
  PERSONA,
  type ClientSpec,
  type ClientWorld,
  type PersonaInput,
} from './client-world.ts'
import type { ClientTools } from './scene.ts'
import type { Terminal } from './terminal.ts'
import type { ConfigInput } from '../../src/contracts/config.ts'

const MODULES = path.resolve(import.meta.dirname, '../../.clients/node_modules')

/** What stands below the field a person types into. */
export const AT_PROMPT = /ctrl\+p commands/

export const opencodeTools: ClientTools = {
  drain: 'turnbell_signals_pending',
  shell: (command) => ({ name: 'bash', input: { command, description: 'wait' } }),
}

export async function say(terminal: Terminal, text: string): Promise<void> {
  terminal.type(text)
  await terminal.shows(new RegExp(text))
  terminal.press('Enter')
}

/** Breaks off the scene's long tool. It wants the key twice, and then says twice that the turn ended. */
export async function interrupt(terminal: Terminal): Promise<void> {
  await terminal.shows(/go \]/)
  // A window that has just joined draws the messages before it knows of the turn.
  await terminal.shows(/esc interrupt/)
  terminal.press('Escape')
  await terminal.shows(/again to interrupt/)
  terminal.press('Escape')
}

/**
 * Leaves the session, whose turn has ended; the new one begins with what is said next. A command is taken from
 * what is offered below it, which comes a moment after the command, so this is done by its key.
 */
export async function newSession(terminal: Terminal): Promise<void> {
  // A window that still loads its session goes there once it has, wherever its user went meanwhile.
  await terminal.shows(/Done\./)
  terminal.press('C-x', 'n')
  await terminal.shows(/Ask anything/)
}

export function opencodeProgram(): string {
  const program = path.join(MODULES, '.bin/opencode')
  if (!fs.existsSync(program))
    throw new Error(`opencode is missing at ${program}: run node scripts/fetch-clients.mjs`)
  return program
}

export interface OpencodeOptions {
  daemon?: ConfigInput['daemon']
  /** The client runs nothing before a person has said yes. */
  asks?: boolean
  persona?: Partial<PersonaInput>
  model_port?: number
}

export async function openOpencodeWorld(options: OpencodeOptions = {}): Promise<ClientWorld> {
  return openClientWorld(opencodeSpec(options))
}

export function opencodeSpec(options: OpencodeOptions = {}): ClientSpec {
  const model_port = options.model_port ?? MODEL_PORT
  return {
    api: chatApi,
    model_port,
    config: {
      daemon: options.daemon ?? {},
      clients: { opencode: opencodeProgram() },
      personas: { [PERSONA]: { surface: 'opencode', ...options.persona } },
    },
    seed({ user }) {
      const home = path.join(user, '.config/opencode')
      fs.mkdirSync(home, { recursive: true })
      fs.writeFileSync(
        path.join(home, 'opencode.json'),
        JSON.stringify(settings(options.asks === true, model_port)),
      )
      // Where it is missing, a client with plugins waits for minutes for a registry that it cannot reach.
      fs.cpSync(path.join(MODULES, '@opencode-ai'), path.join(home, 'node_modules/@opencode-ai'), {
        recursive: true,
      })
      const dependencies = { '@opencode-ai/plugin': '1.18.33' }
      fs.writeFileSync(path.join(home, 'package.json'), JSON.stringify({ dependencies }))
      fs.writeFileSync(
        path.join(home, 'package-lock.json'),
        JSON.stringify({ packages: { '': { dependencies } } }),
      )
      return {}
    },
    // The server is the daemon's child, so the daemon needs them too.
    env: {
      OPENCODE_DISABLE_AUTOUPDATE: '1',
      OPENCODE_DISABLE_MODELS_FETCH: '1',
      OPENCODE_DISABLE_LSP_DOWNLOAD: '1',
      OPENCODE_DISABLE_DEFAULT_PLUGINS: '1',
    },
  }
}

function settings(asks: boolean, model_port: number): object {
  return {
    model: 'scripted/scripted',
    small_model: 'scripted/scripted',
    autoupdate: false,
    share: 'disabled',
    ...(asks ? { permission: 'ask' } : {}),
    provider: {
      scripted: {
        npm: '@ai-sdk/openai-compatible',
        name: 'scripted',
        options: { baseURL: `http://127.0.0.1:${model_port}/v1`, apiKey: 'none' },
        models: { scripted: { name: 'scripted', limit: { context: 200_000, output: 8_000 } } },
      },
    },
  }
}
