/**
 * Entries for a plain Claude Code that acts for a persona in one project: the project's local settings enable the plugin
 * from turnbell's own folder. Nothing is downloaded, and other projects are not changed.
 */
import path from 'node:path'
import { instructions, withTitle } from './instructions.ts'
import type { ConnectionTarget } from './connection-target.ts'
import type { DesiredFile } from './desired-config.ts'
import { DRAIN_TOOL } from '../../contracts/drain-calls.ts'

const PLUGIN = 'turnbell'
const toolOf = (name: string) => `mcp__plugin_turnbell_hub__${name}`
const TOOLS = [DRAIN_TOOL, 'signals'].map(toolOf)
/** Further tools that the instructions mention. */
const MEMORY_TOOLS = ['context', 'blackboard', 'decisions'].map(toolOf)

export function filesForClaudeCode(place: ConnectionTarget): DesiredFile[] {
  const at = (...names: string[]) => path.join(place.project, ...names)
  const source = { source: 'directory', path: place.adapter('claude-code') }
  return [
    {
      form: 'jsonc',
      file: at('.claude', 'settings.local.json'),
      strict: 'Claude Code',
      entries: [
        // Separate names, because settings override the environment and `turnbell run` must override the settings.
        { at: ['env', 'TURNBELL_CONNECTED_PERSONA'], value: place.persona },
        { at: ['env', 'TURNBELL_CONNECTED_HOME'], value: place.home },
        { at: ['env', 'TURNBELL_NODE'], value: place.node },
        { at: ['extraKnownMarketplaces', PLUGIN], value: { source } },
        { at: ['enabledPlugins', `${PLUGIN}@${PLUGIN}`], value: true },
        // Without this, a drain after a doorbell would wait for the person's permission.
        ...TOOLS.map((tool) => ({ at: ['permissions', 'allow'], value: tool, in_list: true })),
      ],
    },
    { form: 'markdown', file: at('CLAUDE.md'), body: withTitle(instructions()) },
    { form: 'whole', file: at('.claude', 'agents', 'turnbell-aware.md'), body: agentFile() },
  ]
}

/** Returns an agent definition with the routine, which also works as `claude --agent turnbell-aware`. */
function agentFile(): string {
  return [
    '---',
    'name: turnbell-aware',
    'description: Works on a task like any other, and answers the durable signals of its persona between two steps.',
    `tools: Read, Write, Edit, Bash, ${[...TOOLS, ...MEMORY_TOOLS].join(', ')}`,
    '---',
    '',
    instructions(),
    '- As a subagent leave the queue to the main agent: a drain of yours is refused. Report what you found; the main agent answers.',
    '',
  ].join('\n')
}
