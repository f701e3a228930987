/**
 * Real clients as a person starts them by hand in a tmux pane: turnbell's tools by the client's own means,
 * and no other way to ring than the pane.
 */
import { withTurnbell } from '../../adapters/opencode/server-config.ts'
import type { TmuxClient } from '../../adapters/tmux/screen.ts'
import type { ConfigInput } from '../../src/contracts/config.ts'
import { readText } from '../../src/system/watch-text.ts'
import { claudeProgram, openClaudeWorld } from './claude-world.ts'
import { PERSONA, type ClientWorld } from './client-world.ts'
import { codexProgram, openCodexWorld } from './codex-world.ts'
import { eventually } from './eventually.ts'
import { opencodeProgram, openOpencodeWorld } from './opencode-world.ts'
import { BIN } from './processes.ts'
import type { ClientTools } from './scene.ts'
import type { Terminal } from './terminal.ts'

export interface TmuxWorldOptions {
  daemon?: ConfigInput['daemon']
  /** The client runs nothing before a person has said yes. */
  asks?: boolean
}

export interface ClientInPane {
  client: TmuxClient
  tools: ClientTools
  open: (options?: TmuxWorldOptions) => Promise<ClientWorld>
  /** How a person starts it. */
  argv: (world: ClientWorld, asks: boolean) => string[]
  /** What stands on the screen once a person can type. */
  ready: RegExp
  /** The call that the client asks about, and what it then shows. */
  forbidden: { name: string; input: object }
  asking: RegExp
  /** How a list is shown in the place of the composer, and what is seen of it, or while it is too early. */
  list: { call(terminal: Terminal): Promise<void> | void; shows: RegExp; refuses?: RegExp }
}

/** The pane of the first terminal that a world opens; its socket lies beside the home. */
const persona = { surface: 'tmux', tmux: { pane: 'scene:0.0', socket: '../tmux.sock' } } as const

/** What the bridge answered its client, for a scene that must know that the client has its tools. */
const answersOf = ({ directory }: ClientWorld) => `${directory}/bridge.out`

const bridge = (world: ClientWorld) => ({
  command: '/bin/sh',
  args: [
    ...['-c', '"$@" | tee -a "$0"', answersOf(world)],
    ...[process.execPath, BIN, 'mcp', '--stdio', '--persona', PERSONA],
    ...['--home', `${world.directory}/turnbell`, '--no-autostart'],
  ],
})

const claude: ClientInPane = {
  client: 'claude-code',
  tools: {
    drain: 'mcp__turnbell__signals_pending',
    shell: (command) => ({ name: 'Bash', input: { command, description: 'wait' } }),
  },
  open: ({ daemon = {} } = {}) => openClaudeWorld({ daemon, persona }),
  argv(world, asks) {
    const mode = asks ? 'default' : 'bypassPermissions'
    return [
      ...[claudeProgram(), '--mcp-config', JSON.stringify({ mcpServers: { turnbell: bridge(world) } })],
      ...['--permission-mode', mode, '--allowedTools', 'mcp__turnbell__signals_pending'],
    ]
  },
  ready: /❯/,
  forbidden: { name: 'Bash', input: { command: 'touch asked-for', description: 'make a file' } },
  asking: /Do you want to proceed/,
  list: { call: (terminal) => say(terminal, '/model'), shows: /Select model/ },
}

const codex: ClientInPane = {
  client: 'codex',
  tools: {
    drain: 'mcp__turnbell.signals_pending',
    shell: (cmd) => ({ name: 'exec_command', input: { cmd, yield_time_ms: 30_000 } }),
  },
  open: (options = {}) => openCodexWorld({ ...options, persona }),
  argv(world) {
    const settings = {
      ...bridge(world),
      'tools.signals_pending.approval_mode': 'approve',
    }
    const words = Object.entries(settings).flatMap(([key, value]) => [
      '-c',
      `mcp_servers.turnbell.${key}=${JSON.stringify(value)}`,
    ])
    return [codexProgram(), ...words]
  },
  ready: /Ask Codex to do anything/,
  forbidden: {
    name: 'exec_command',
    input: {
      ...{ cmd: 'touch asked-for', sandbox_permissions: 'require_escalated' },
      justification: 'May I make a file?',
    },
  },
  asking: /May I make a file/,
  list: {
    call: (terminal) => say(terminal, '/model'),
    shows: /Select Model/,
    refuses: /disabled until startup completes/g,
  },
}

const opencode: ClientInPane = {
  client: 'opencode',
  tools: {
    drain: 'turnbell_signals_pending',
    shell: (command) => ({ name: 'bash', input: { command, description: 'wait' } }),
  },
  open: (options = {}) => openOpencodeWorld({ ...options, persona }),
  argv(world) {
    const { command, args } = bridge(world)
    const settings = withTurnbell(undefined, [command, ...args], null)
    return ['env', `OPENCODE_CONFIG_CONTENT=${settings}`, opencodeProgram()]
  },
  ready: /ctrl\+p commands/,
  forbidden: { name: 'bash', input: { command: 'touch asked-for', description: 'make a file' } },
  asking: /Permission required/,
  // A command is taken from what is offered below it, which comes a moment after the command; a key has no such moment.
  list: { call: (terminal) => terminal.press('C-x', 'm'), shows: /Select model/ },
}

export const CLIENTS_IN_PANES = [claude, codex, opencode]

/**
 * Starts the client, and waits until it has its tools and the daemon has found it at its prompt. Codex shows
 * its prompt before, and nothing on its screen tells: rung so early it would be told of a tool that it does
 * not have yet.
 */
export async function atPrompt(
  world: ClientWorld,
  { argv, ready }: ClientInPane,
  asks = false,
): Promise<Terminal> {
  const terminal = world.terminalOf(argv(world, asks))
  await terminal.shows(ready, 60_000)
  // Codex takes no commands before.
  await eventually('it has loaded', () => !/loading/.test(terminal.screen()))
  await eventually(
    'it has its tools',
    () => /"name":"signals_pending"/.test(readText(answersOf(world)) ?? ''),
    60_000,
  )
  await world.turnIs('idle')
  return terminal
}

/** Types it, and sees it stand there, before Enter: a client takes a burst of keys for something pasted. */
export async function say(terminal: Terminal, text: string): Promise<void> {
  await types(terminal, text)
  terminal.press('Enter')
}

/** Calls for it again for as long as it is too early for it. */
export async function openList(terminal: Terminal, { list }: ClientInPane): Promise<void> {
  const refusals = () =>
    list.refuses === undefined ? 0 : (terminal.screen().match(list.refuses) ?? []).length
  const isOpen = () => list.shows.test(terminal.screen())
  while (!isOpen()) {
    const before = refusals()
    await list.call(terminal)
    await eventually(`${list.shows}, or a refusal`, () => isOpen() || refusals() > before, 60_000)
  }
}

export async function types(terminal: Terminal, text: string): Promise<void> {
  terminal.type(text)
  await terminal.shows(new RegExp(text))
}

export async function erases(terminal: Terminal, text: string): Promise<void> {
  for (const _ of text) terminal.press('BSpace')
  await eventually(`${text} is gone`, () => !terminal.screen().includes(text))
}

/** The open list, from its title on: above it the client greets, and what stands there moves by itself. */
export function listOf(terminal: Terminal, { list }: ClientInPane): string {
  const screen = terminal.screen()
  return screen.slice(screen.search(list.shows))
}
