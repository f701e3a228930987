/** The real opencode without a network, with a temporary home and no login. */
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
import { installedProgram, modulesOf } from './installed-clients.ts'
import { CURRENT } from '../../../scripts/client-packages.mjs'
import type { ConfigInput } from '../../../src/contracts/config.ts'

const PLUGIN = '@opencode-ai/plugin'

/** Text below the input field. */
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

/** Interrupts the scene's long tool. opencode requires the key twice, and then reports the end of the turn twice. */
export async function interrupt(terminal: Terminal): Promise<void> {
  await terminal.shows(/go \]/)
  // A window that has just joined draws the messages before it shows the turn.
  await terminal.shows(/esc interrupt/)
  terminal.press('Escape')
  await terminal.shows(/again to interrupt/)
  terminal.press('Escape')
}

/**
 * Leaves the session, whose turn has ended; the next prompt starts a new one. A shortcut is used because the completion
 * list for a command appears a moment after the command.
 */
export async function newSession(terminal: Terminal): Promise<void> {
  // A window that is still loading its session navigates to it when done, even if the user has gone elsewhere.
  await terminal.shows(/Done\./)
  terminal.press('C-x', 'n')
  await terminal.shows(/Ask anything/)
}

export function opencodeProgram(): string {
  return installedProgram('opencode-ai', '.bin/opencode')
}

export interface OpencodeOptions {
  daemon?: ConfigInput['daemon']
  /** Whether the client asks the user before it runs anything. */
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
      // Without this package a client with plugins waits for minutes for an unreachable registry.
      fs.cpSync(path.join(modulesOf(PLUGIN), '@opencode-ai'), path.join(home, 'node_modules/@opencode-ai'), {
        recursive: true,
      })
      const dependencies = { [PLUGIN]: CURRENT.versions[PLUGIN] }
      fs.writeFileSync(path.join(home, 'package.json'), JSON.stringify({ dependencies }))
      fs.writeFileSync(
        path.join(home, 'package-lock.json'),
        JSON.stringify({ packages: { '': { dependencies } } }),
      )
      return {}
    },
    // The server is the daemon's child, so the daemon needs these variables, too.
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
