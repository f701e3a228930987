/**
 * Entries for a plain opencode that acts for a persona in one project: the MCP server, permission to use it, and the
 * plugin that rings, all in the project's configuration file. No `.opencode` folder is created, because the client would
 * download packages into it at its next start.
 */
import fs from 'node:fs'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import { DRAIN_TOOL } from '../../contracts/drain-calls.ts'
import { LIMITS } from '../../contracts/limits/limits.ts'
import { instructions, withTitle } from './instructions.ts'
import type { Entry } from './edit/jsonc.ts'
import { bridgeWords, type ConnectionTarget } from './connection-target.ts'
import type { DesiredFile } from './desired-config.ts'

const TOOLS = [`turnbell_${DRAIN_TOOL}`, 'turnbell_signals']
/** The client's own subagents. Their calls cannot be distinguished from those of their agent. */
const SUBAGENTS = ['general', 'explore']

export function filesForOpencode(place: ConnectionTarget): DesiredFile[] {
  const at = (name: string) => path.join(place.project, name)
  const file = configFile(place)
  const plugin = pathToFileURL(path.join(place.adapter('opencode'), 'plugin.js')).href
  const command = bridgeWords(place, file, 'opencode')
  return [
    {
      form: 'jsonc',
      file,
      // The client would add this to a file without it, and the file would then count as edited.
      head: [{ at: ['$schema'], value: 'https://opencode.ai/config.json' }],
      entries: [
        // Long, because it may have to start a hub first; the client's default timeout is 5 s.
        {
          at: ['mcp', 'turnbell'],
          value: { type: 'local', command, enabled: true, timeout: LIMITS.process_start_ms },
        },
        // Without this, a drain after a doorbell would wait for the person's permission.
        ...TOOLS.map((tool): Entry => ({ at: ['permission', tool], value: 'allow', short: '*' })),
        ...SUBAGENTS.map((name): Entry => ({
          at: ['agent', name, 'permission', TOOLS[0] as string],
          value: 'deny',
          short: '*',
        })),
        {
          at: ['plugin'],
          value: [plugin, { persona: place.persona, home: place.home }],
          in_list: true,
        },
      ],
    },
    { form: 'markdown', file: at('AGENTS.md'), body: withTitle(instructions()) },
  ]
}

/**
 * Returns the configuration file to use. The client merges both names. Because the plugin's path belongs to this machine,
 * an untracked file is preferred to one that git tracks.
 */
function configFile({ project, tracking }: ConnectionTarget): string {
  const [jsonc, json] = ['opencode.jsonc', 'opencode.json'].map((name) => path.join(project, name)) as [
    string,
    string,
  ]
  const existing = [jsonc, json].filter((file) => fs.existsSync(file))
  if (existing.length === 0) return json
  return [...existing, jsonc, json].find((file) => tracking(file) !== 'tracked') ?? (existing[0] as string)
}
