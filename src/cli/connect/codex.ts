/**
 * What a plain Codex needs to act for a persona in one project: the MCP server and the hooks, in the
 * project's own `.codex` folder, which Codex reads once its person trusts the project.
 */
import path from 'node:path'
import { DRAIN_TOOL } from '../../contracts/drain.ts'
import type { Json } from '../../contracts/ids.ts'
import { LIMITS } from '../../contracts/limits.ts'
import { shellWord } from '../../system/shell-word.ts'
import { instructions, withTitle } from './instructions.ts'
import { bridgeWords, type Place } from './place.ts'
import type { Wanted } from './wanted.ts'

/** Which thread acts for the persona, when its turns begin, when they end. Each costs a process an event. */
export const HOOK_EVENTS = ['SessionStart', 'UserPromptSubmit', 'Stop', 'Interrupt', 'SessionEnd'] as const

export function wantedByCodex(place: Place): Wanted[] {
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

/** JSON is TOML for strings and lists of them. */
function mcpServer(place: Place, file: string): string {
  const [command, ...args] = bridgeWords(place, file, 'codex')
  const tool = (name: string) => [
    '',
    `[mcp_servers.turnbell.tools.${name}]`,
    // What a doorbell asks for must not wait for a person.
    'approval_mode = "approve"',
  ]
  return [
    '[mcp_servers.turnbell]',
    `command = ${JSON.stringify(command)}`,
    `args = ${JSON.stringify(args)}`,
    // It may have to start a hub first. A turn that begins before goes without the tools, and the next has them:
    // `required` would make Codex wait, and refuse to start at all where turnbell is out of order.
    `startup_timeout_sec = ${LIMITS.process_start_ms / 1000}`,
    ...tool(DRAIN_TOOL),
    ...tool('signals'),
  ].join('\n')
}

function hook(place: Place, event: string): Json {
  return {
    hooks: [{ type: 'command', command: hookCommand(place, event), timeout: LIMITS.hook_timeout_ms / 1000 }],
  }
}

const hooksFile = ({ project }: Place) => path.join(project, '.codex', 'hooks.json')

/** One line for the user's shell, also for fish. It ends with 0 in silence where turnbell is no longer installed. */
export function hookCommand(place: Place, event: string): string {
  const { words, home } = place.caller(hooksFile(place))
  const call = [...words, 'hook', event, '--client', 'codex', '--persona', place.persona, ...home]
  const line = call.map(shellWord).join(' ')
  if (place.platform === 'win32') return line
  const there = words
    .map((word) =>
      path.isAbsolute(word) ? `[ -e ${shellWord(word)} ]` : `command -v ${word} >/dev/null 2>&1`,
    )
    .join(' && ')
  return `${there} && ${line} 2>/dev/null || exit 0`
}
