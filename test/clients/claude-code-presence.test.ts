/** What the module inside the real Claude Code shows about its agent: waiting for the person, subagents, compaction. */
import { beforeAll, expect, test } from 'vitest'
import { claudeProgram, openClaudeWorld, type ClaudeWorld } from '../support/clients/claude-world.ts'
import { eventually } from '../support/eventually.ts'
import { primeable } from '../support/clients/primers.ts'
import { scenesOf } from '../support/clients/scene.ts'
import type { Presence } from '../../src/contracts/presence.ts'

beforeAll(() => void claudeProgram())

const open = scenesOf(
  {
    drain: 'mcp__plugin_turnbell_hub__signals_pending',
    shell: (command) => ({ name: 'Bash', input: { command, description: 'wait for the scene' } }),
  },
  openClaudeWorld,
)

const touch = (name: string) => ({
  name: 'Bash',
  input: { command: `touch ${name}`, description: 'make it' },
})

/** Resolves when `status` shows a presence that fulfils the condition. */
function shows(world: ClaudeWorld, what: string, is: (presence: Presence) => boolean): Promise<Presence> {
  return eventually(what, async () => {
    const { presence } = (await world.status()).surface
    return presence !== null && is(presence) && presence
  })
}

const nothingWaits = ({ waiting, agents }: Presence) => waiting.length === 0 && agents.length === 0

test('status shows what Claude Code asks its person, its subagents, and whether a compaction kept the primer', async () => {
  const world = await open()
  await primeable(world, 'claude-code')
  const terminal = world.terminal(['--permission-mode', 'default', '--allowedTools', 'Agent'])
  await world.turnIs('idle')
  await world.isReached('module')
  const say = (text: string) => {
    terminal.type(text)
    terminal.press('Enter')
  }

  world.model.next(/make a file/, { tools: [touch('first')] })
  say('make a file')
  await terminal.shows(/Do you want to proceed/)
  const { waiting } = await shows(world, 'a wait of the main agent', (now) => now.waiting.length === 1)
  expect(waiting[0]).toMatchObject({ for: 'permission', tool: 'Bash', agent: null })
  expect(waiting[0]?.why).toMatch(/needs approval|requires approval|permission/)
  await terminal.answers(/Do you want to proceed/, 'Enter')
  await shows(world, 'the main agent waits no more', nothingWaits)
  await world.turnIs('idle')

  const input = { description: 'a small task', prompt: 'make another', subagent_type: 'general-purpose' }
  world.model.next(/ask a helper/, { tools: [{ name: 'Agent', input }] })
  world.model.always(/make another/, { tools: [touch('second')] }, 'sub')
  say('ask a helper')
  await terminal.shows(/Do you want to proceed/)
  const asked = await shows(world, 'a wait of a subagent', (now) => now.waiting.length === 1)
  const [helper] = asked.agents
  expect(asked.agents).toHaveLength(1)
  expect(helper).toMatchObject({ parent: null, type: 'general-purpose', task: 'a small task' })
  expect(asked.waiting[0]).toMatchObject({ tool: 'Bash', agent: helper?.agent })
  await terminal.answers(/Do you want to proceed/, 'Escape')
  await shows(world, 'the subagent ended', nothingWaits)
  await world.turnIs('idle')

  say('/compact')
  await terminal.shows(/ompacted/)
  const compacted = await shows(world, 'a compaction', (now) => now.last_compaction !== null)
  expect(compacted.last_compaction?.after).toBe(compacted.tokens)
  say('here again')
  const last = await shows(world, 'the proof', (now) => now.last_compaction?.restored != null)
  expect(last.last_compaction?.restored).toBe(true)
  await world.turnIs('idle')

  // Without a hub there is no primer.
  await world.hub.kill()
  say('/compact')
  const { at } = last.last_compaction!
  await shows(world, 'another compaction', (now) => now.last_compaction?.at !== at)
  say('back again')
  const without = await shows(world, 'the proof', (now) => now.last_compaction?.restored != null)
  expect(without.last_compaction?.restored).toBe(false)
})
