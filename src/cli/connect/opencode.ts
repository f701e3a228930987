/**
 * What a plain opencode needs to act for a persona in one project: the MCP server, leave to use it, and the
 * plugin that rings, all in the project's one configuration file. No `.opencode` folder is made: the client
 * would fetch packages into it at its next start.
 */
import fs from 'node:fs'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import { DRAIN_TOOL } from '../../contracts/drain.ts'
import { LIMITS } from '../../contracts/limits.ts'
import { instructions, withTitle } from './instructions.ts'
import type { Entry } from './jsonc.ts'
import { bridgeWords, type Place } from './place.ts'
import type { Wanted } from './wanted.ts'

const TOOLS = [`turnbell_${DRAIN_TOOL}`, 'turnbell_signals']
/** The client's own subagents. Their calls cannot be told from their agent's. */
const SUBAGENTS = ['general', 'explore']

export function wantedByOpencode(place: Place): Wanted[] {
  const at = (name: string) => path.join(place.project, name)
  const file = configFile(place)
  const plugin = pathToFileURL(path.join(place.adapter('opencode'), 'plugin.js')).href
  const command = bridgeWords(place, file, 'opencode')
  return [
    {
      form: 'jsonc',
      file,
      // The client writes this into a file that lacks it, which would then be a file somebody has edited.
      head: [{ at: ['$schema'], value: 'https://opencode.ai/config.json' }],
      entries: [
        // It may have to start a hub first; the client's own patience is 5 s.
        {
          at: ['mcp', 'turnbell'],
          value: { type: 'local', command, enabled: true, timeout: LIMITS.process_start_ms },
        },
        // What a doorbell asks for must not wait for a person.
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
 * The client reads both names and joins them. The plugin has to be named by its path on this machine, so a file that git
 * tracks is left alone as long as the other one is not tracked.
 */
function configFile({ project, tracking }: Place): string {
  const [jsonc, json] = ['opencode.jsonc', 'opencode.json'].map((name) => path.join(project, name)) as [
    string,
    string,
  ]
  const there = [jsonc, json].filter((file) => fs.existsSync(file))
  if (there.length === 0) return json
  return [...there, jsonc, json].find((file) => tracking(file) !== 'tracked') ?? (there[0] as string)
}
