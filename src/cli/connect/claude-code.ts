/**
 * What a plain Claude Code needs to act for a persona in one project: its local settings there enable the
 * plugin from turnbell's own folder. Nothing is downloaded, and no other project is touched.
 */
import path from 'node:path'
import { instructions, withTitle } from './instructions.ts'
import type { Place } from './place.ts'
import type { Wanted } from './wanted.ts'
import { DRAIN_TOOL } from '../../contracts/drain.ts'

const PLUGIN = 'turnbell'
const toolOf = (name: string) => `mcp__plugin_turnbell_hub__${name}`
const TOOLS = [DRAIN_TOOL, 'signals'].map(toolOf)
/** What the instructions speak of beside signals. */
const MEMORY_TOOLS = ['context', 'blackboard', 'decisions'].map(toolOf)

export function wantedByClaudeCode(place: Place): Wanted[] {
  const at = (...names: string[]) => path.join(place.project, ...names)
  const source = { source: 'directory', path: place.adapter('claude-code') }
  return [
    {
      form: 'jsonc',
      file: at('.claude', 'settings.local.json'),
      strict: 'Claude Code',
      entries: [
        // Names of their own: settings win over the environment, and `turnbell run` must win over them.
        { at: ['env', 'TURNBELL_CONNECTED_PERSONA'], value: place.persona },
        { at: ['env', 'TURNBELL_CONNECTED_HOME'], value: place.home },
        { at: ['env', 'TURNBELL_NODE'], value: place.node },
        { at: ['extraKnownMarketplaces', PLUGIN], value: { source } },
        { at: ['enabledPlugins', `${PLUGIN}@${PLUGIN}`], value: true },
        // What a doorbell asks for must not wait for a person.
        ...TOOLS.map((tool) => ({ at: ['permissions', 'allow'], value: tool, in_list: true })),
      ],
    },
    { form: 'markdown', file: at('CLAUDE.md'), body: withTitle(instructions()) },
    { form: 'whole', file: at('.claude', 'agents', 'turnbell-aware.md'), body: agentFile() },
  ]
}

/** An agent of the client that knows the routine; also a way to start one: `claude --agent turnbell-aware`. */
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
