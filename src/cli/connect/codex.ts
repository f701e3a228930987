/**
 * Entries for a plain Codex that acts for a persona in one project: the MCP server and the hooks, in the project's
 * `.codex` folder, which Codex reads once the person trusts the project.
 */
import path from 'node:path'
import { DRAIN_TOOL } from '../../contracts/drain-calls.ts'
import type { Json } from '../../contracts/ids.ts'
import { LIMITS } from '../../contracts/limits/limits.ts'
import { shellWord } from '../../system/process/shell-word.ts'
import { instructions, withTitle } from './instructions.ts'
import { bridgeWords, type ConnectionTarget } from './connection-target.ts'
import type { DesiredFile } from './desired-config.ts'

/** Events that report the thread, and the begin and end of its turns. Each event starts a process. */
export const HOOK_EVENTS = ['SessionStart', 'UserPromptSubmit', 'Stop', 'Interrupt', 'SessionEnd'] as const

export function filesForCodex(place: ConnectionTarget): DesiredFile[] {
  const at = (...names: string[]) => path.join(place.project, ...names)
  return [
    {
      form: 'toml',
      file: at('.codex', 'config.toml'),
      at: ['mcp_servers', 'turnbell'],
      body: mcpServer(place, at('.codex', 'config.toml')),
    },
    {
      form: 'jsonc',
      file: hooksFile(place),
      strict: 'Codex',
      entries: HOOK_EVENTS.map((event) => ({
        at: ['hooks', event],
        value: hook(place, event),
        in_list: true,
      })),
    },
    { form: 'markdown', file: at('AGENTS.md'), body: withTitle(instructions()) },
  ]
}

/** Uses JSON for strings and lists of strings, which is valid TOML. */
function mcpServer(place: ConnectionTarget, file: string): string {
  const [command, ...args] = bridgeWords(place, file, 'codex')
  const tool = (name: string) => [
    '',
    `[mcp_servers.turnbell.tools.${name}]`,
    // Without this, a drain after a doorbell would wait for the person's permission.
    'approval_mode = "approve"',
  ]
  return [
    '[mcp_servers.turnbell]',
    `command = ${JSON.stringify(command)}`,
    `args = ${JSON.stringify(args)}`,
    // Long, because it may have to start a hub first. A turn that begins earlier runs without the tools. With `required`,
    // Codex would wait, and would refuse to start if turnbell is broken.
    `startup_timeout_sec = ${LIMITS.process_start_ms / 1000}`,
    ...tool(DRAIN_TOOL),
    ...tool('signals'),
  ].join('\n')
}

function hook(place: ConnectionTarget, event: string): Json {
  return {
    hooks: [{ type: 'command', command: hookCommand(place, event), timeout: LIMITS.hook_timeout_ms / 1000 }],
  }
}

const hooksFile = ({ project }: ConnectionTarget) => path.join(project, '.codex', 'hooks.json')

/** Returns a command line for the user's shell, including fish. It exits 0 without output if turnbell is not installed. */
export function hookCommand(place: ConnectionTarget, event: string): string {
  const { words, home } = place.caller(hooksFile(place))
  const call = [...words, 'hook', event, '--client', 'codex', '--persona', place.persona, ...home]
  const line = call.map(shellWord).join(' ')
  if (place.platform === 'win32') return line
  const exists = words
    .map((word) =>
      path.isAbsolute(word) ? `[ -e ${shellWord(word)} ]` : `command -v ${word} >/dev/null 2>&1`,
    )
    .join(' && ')
  return `${exists} && ${line} 2>/dev/null || exit 0`
}
