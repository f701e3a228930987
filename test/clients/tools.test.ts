/**
 * The tools as real clients have them: their models are shown the hub's short list, and an action that is not in
 * it is found by search, described, and called.
 */
import { expect, test } from 'vitest'
import { openClaudeWorld } from '../support/clients/claude-world.ts'
import { PERSONA, type ClientWorld } from '../support/clients/client-world.ts'
import { openCodexWorld } from '../support/clients/codex-world.ts'
import { eventually } from '../support/eventually.ts'
import { AT_PROMPT, openOpencodeWorld } from '../support/clients/opencode-world.ts'
import { scenesOf } from '../support/clients/scene.ts'
import type { Terminal } from '../support/clients/terminal.ts'

const LISTED = [
  ...['signals_pending', 'signals', 'workflow', 'store', 'routine', 'git'],
  ...['tool_search', 'tool_describe', 'tool_invoke'],
]

/** Each client's prefix for a tool's name. */
const PREFIXES = {
  'Claude Code': 'mcp__plugin_turnbell_hub__',
  Codex: 'mcp__turnbell.',
  opencode: 'turnbell_',
}
type Name = keyof typeof PREFIXES

const scenes = (name: Name, openWorld: () => Promise<ClientWorld>) =>
  scenesOf({ drain: `${PREFIXES[name]}signals_pending`, shell: () => ({ name: '', input: {} }) }, openWorld)

const WORLDS = {
  'Claude Code': scenes('Claude Code', openClaudeWorld),
  Codex: scenes('Codex', openCodexWorld),
  opencode: scenes('opencode', openOpencodeWorld),
}

async function atPrompt(name: Name, world: ClientWorld): Promise<Terminal> {
  if (name === 'Claude Code') {
    const all = `${PREFIXES[name].slice(0, -2)}`
    const terminal = world.terminal(['--permission-mode', 'default', '--allowedTools', all])
    await world.turnIs('idle')
    return terminal
  }
  const terminal = world.terminal()
  await terminal.shows(name === 'Codex' ? /Ask Codex to do anything/ : AT_PROMPT, 60_000)
  await world.turnIs('idle')
  return terminal
}

test.each(Object.keys(PREFIXES) as Name[])(
  '%s shows its model the short list, and calls an unlisted action',
  async (name) => {
    const world = await WORLDS[name]()
    const terminal = await atPrompt(name, world)
    const call = (tool: string, input: object) => ({ tools: [{ name: PREFIXES[name] + tool, input }] })
    world.model.next(/use your tool/, call('tool_search', { query: 'take a ressource for me alone' }))
    world.model.next(/coordinator_lock/, call('tool_describe', { name: 'coordinator_lock' }))
    world.model.next(
      /input_schema/,
      call('tool_invoke', { name: 'coordinator_lock', args: { resource: 'deploy' } }),
    )

    terminal.type('use your tool')
    await terminal.shows(/use your tool/)
    terminal.press('Enter')
    const locks = await eventually(
      'the lock is taken',
      async () => {
        const { locks: taken } = await world.call<{ locks: object[] }>('coordinator', 'status', {})
        return taken.length > 0 && taken
      },
      60_000,
    )
    expect(locks).toMatchObject([{ resource: 'deploy', identity: PERSONA }])
    const asked = world.model.shown.find(
      ({ role, fresh }) => role === 'main' && fresh.includes('use your tool'),
    )
    // Claude Code only names most tools in its prompt and loads their schemas on demand.
    const shown = [...(asked?.tools ?? []), ...(asked?.fresh.split('\n') ?? [])]
    expect(shown).toEqual(expect.arrayContaining(LISTED.map((tool) => PREFIXES[name] + tool)))
  },
)
