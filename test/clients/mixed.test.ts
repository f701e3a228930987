/**
 * A team of three real clients: Codex asks Claude Code, whose answer wakes Codex again, and the result is sent to
 * all, including opencode. Each has a scripted model of its own; the assertions use what each model was
 * shown.
 */
import { afterEach, expect, test } from 'vitest'
import { claudeSpec } from '../support/clients/claude-world.ts'
import { codexSpec } from '../support/clients/codex-world.ts'
import { expectOneBellPerTurn, turnsOf } from '../support/clients/conversation.ts'
import type { Reply, Shown } from '../support/clients/model-server.ts'
import { opencodeSpec } from '../support/clients/opencode-world.ts'
import { BELL } from '../support/clients/scene.ts'
import { openTeamWorld, type TeamWorld } from '../support/clients/team-world.ts'

/** The names of turnbell's tools for each client's model. */
const TOOLS = {
  cody: 'mcp__turnbell.',
  clara: 'mcp__plugin_turnbell_hub__',
  olaf: 'turnbell_',
}
type Name = keyof typeof TOOLS
const NAMES = Object.keys(TOOLS) as Name[]

const worlds: TeamWorld[] = []
afterEach(async (context) => {
  for (const world of worlds.splice(0)) {
    if (context.task.result?.state === 'fail') {
      for (const name of NAMES) {
        console.info(name, JSON.stringify(world.modelOf(name).shown))
        console.info(name, JSON.stringify(world.log(`${name}.log`)))
      }
    }
    await world.close()
  }
})

/** All clients at their prompts, with models that drain at every doorbell. */
async function openTeam() {
  const team = await openTeamWorld({
    cody: codexSpec({ model_port: 18_081 }),
    clara: claudeSpec({ model_port: 18_082 }),
    olaf: opencodeSpec({ model_port: 18_083 }),
  })
  worlds.push(team)
  await team.startHub()
  for (const name of NAMES) {
    await team.startDaemon(name)
    team.modelOf(name).always(BELL, { tools: [{ name: `${TOOLS[name]}signals_pending`, input: {} }] })
  }
  const cody = team.terminal([], 'cody')
  await cody.shows(/Ask Codex to do anything/)
  team.terminal(['--permission-mode', 'default'], 'clara')
  await team.terminal([], 'olaf').shows(/ctrl\+p commands/, 60_000)
  for (const name of NAMES) await team.turnIs('idle', name)
  return { team, cody }
}

const signals = (name: Name, action: string, params: object): Reply => ({
  tools: [{ name: `${TOOLS[name]}signals`, input: { action, params } }],
})

/** The ids of the signals that this request's drain returned. */
function drainedIn({ tool_results }: Shown): string[] {
  return tool_results.flatMap((text) =>
    [...text.matchAll(/"signal_id":\s*"([0-9A-Z]{26})"/g)].map(([, id]) => id!),
  )
}

test('Codex asks Claude Code, is woken by its answer, and sends the result to all', async () => {
  const { team, cody } = await openTeam()
  const question = { to: 'clara', intent: 'question', payload: 'which port is it?', reply_to: 'cody' }
  team.modelOf('cody').next(/ask clara/, signals('cody', 'send', question))
  team
    .modelOf('clara')
    .always(/which port is it\?/, (shown) =>
      signals('clara', 'ack', { signal_ids: drainedIn(shown), result: 'it is 4888' }),
    )
  const news = { intent: 'news', payload: 'everybody: 4888' }
  team.modelOf('cody').next(/it is 4888/, signals('cody', 'broadcast', news))

  cody.type('ask clara')
  await cody.shows(/› ask clara/)
  cody.press('Enter')
  await expect
    .poll(() => turnsOf(team.modelOf('olaf')).flatMap(({ drained }) => drained), { timeout: 120_000 })
    .toEqual(['everybody: 4888'])
  await team.rests()

  expectOneBellPerTurn(team.modelOf('cody'), ['it is 4888'])
  expectOneBellPerTurn(team.modelOf('clara'), ['which port is it?', 'everybody: 4888'])
  expectOneBellPerTurn(team.modelOf('olaf'), ['everybody: 4888'])
  const woken = turnsOf(team.modelOf('cody')).at(-1)
  expect(woken?.bells).toHaveLength(1)
  expect(woken?.requests[1]?.fresh).toMatch(/"in_reply_to"/)
})
