/**
 * Real clients started by hand in a tmux pane. turnbell's tools are configured in the client's own settings, and a
 * doorbell can only be typed into the pane.
 */
import { withTurnbell } from '../../../adapters/opencode/server-config.ts'
import type { TmuxClient } from '../../../adapters/tmux/screen.ts'
import type { ConfigInput } from '../../../src/contracts/config.ts'
import { readText } from '../../../src/system/files/watch-file.ts'
import { claudeProgram, openClaudeWorld } from './claude-world.ts'
import { PERSONA, type ClientWorld } from './client-world.ts'
import { codexProgram, openCodexWorld } from './codex-world.ts'
import { eventually } from '../eventually.ts'
import { opencodeProgram, openOpencodeWorld } from './opencode-world.ts'
import { BIN } from '../processes/processes.ts'
import type { ClientTools } from './scene.ts'
import type { Terminal } from './terminal.ts'

export interface TmuxWorldOptions {
  daemon?: ConfigInput['daemon']
  /** Whether the client asks the user before it runs anything. */
  asks?: boolean
}

export interface ClientInPane {
  client: TmuxClient
  tools: ClientTools
  open: (options?: TmuxWorldOptions) => Promise<ClientWorld>
  /** Returns the command that starts it. */
  argv: (world: ClientWorld, asks: boolean) => string[]
  /** Matches the screen when the client accepts input. */
  ready: RegExp
  /** A call that needs permission, and the dialog that the client then shows. */
  forbidden: { name: string; input: object }
  asking: RegExp
  /**
   * A list shown in place of the composer: how to open it, its text, and the text of a refusal when it is too early.
   */
  list: { call(terminal: Terminal): Promise<void> | void; shows: RegExp; refuses?: RegExp }
}

/** The pane of the first terminal that a world opens; its socket is next to the home. */
const persona = { surface: 'tmux', tmux: { pane: 'scene:0.0', socket: '../tmux.sock' } } as const

/** Responses of the bridge to its client, for scenes that must know that the client has its tools. */
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
  // A shortcut is used because the completion list for a command appears a moment after the command.
  list: { call: (terminal) => terminal.press('C-x', 'm'), shows: /Select model/ },
}

export const CLIENTS_IN_PANES = [claude, codex, opencode]

/**
 * Starts the client and waits until it has its tools and the daemon has found it at its prompt. Codex shows its prompt
 * earlier, without any sign on the screen. A doorbell at that point would name a tool that Codex does not have yet.
 */
export async function atPrompt(
  world: ClientWorld,
  { argv, ready }: ClientInPane,
  asks = false,
): Promise<Terminal> {
  const terminal = world.terminalOf(argv(world, asks))
  await terminal.shows(ready, 60_000)
  // Codex accepts no commands before it has loaded.
  await eventually('it has loaded', () => !/loading/.test(terminal.screen()))
  await eventually(
    'it has its tools',
    () => /"name":"signals_pending"/.test(readText(answersOf(world)) ?? ''),
    60_000,
  )
  await world.turnIs('idle')
  return terminal
}

/**
 * Types the text and waits until it is shown before pressing Enter, because a client treats a burst of keys as pasted
 * text.
 */
export async function say(terminal: Terminal, text: string): Promise<void> {
  await types(terminal, text)
  terminal.press('Enter')
}

/** Repeats the request while it is too early. */
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

/** Returns the open list from its title on. The text above it changes by itself. */
export function listOf(terminal: Terminal, { list }: ClientInPane): string {
  const screen = terminal.screen()
  return screen.slice(screen.search(list.shows))
}
