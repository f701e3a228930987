/**
 * A plain opencode, which a person starts without turnbell, wired by nothing but its own configuration
 * file: the plugin makes its window a surface.
 */
import fs from 'node:fs'
import path from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { PERSONA, type ClientWorld } from '../support/client-world.ts'
import { expectOneBellPerTurn } from '../support/conversation.ts'
import { eventually } from '../support/eventually.ts'
import {
  AT_PROMPT,
  opencodeProgram,
  opencodeTools,
  openOpencodeWorld,
  say,
} from '../support/opencode-world.ts'
import { BIN } from '../support/processes.ts'
import { scenesOf } from '../support/scene.ts'
import type { Terminal } from '../support/terminal.ts'
import { describeClient } from '../suites/client.suite.ts'

const PLUGIN = path.join(path.dirname(BIN), 'adapters/opencode/plugin.js')

beforeAll(() => void opencodeProgram())

/** What `turnbell connect opencode` writes into a project, and an agent of the person's own. */
function connected(world: ClientWorld): ClientWorld {
  const home = path.join(world.directory, 'turnbell')
  const bridge = [process.execPath, BIN, 'mcp', '--client', 'opencode', '--persona', PERSONA, '--home', home]
  const settings = {
    plugin: [[`file://${PLUGIN}`, { persona: PERSONA, home }]],
    mcp: { turnbell: { type: 'local', command: bridge, enabled: true } },
    permission: { turnbell_signals_pending: 'allow', turnbell_signals: 'allow' },
    agent: { digger: { mode: 'subagent', description: 'digs', prompt: 'You dig.' } },
  }
  fs.writeFileSync(path.join(world.project, 'opencode.json'), JSON.stringify(settings))
  return world
}

const open = scenesOf(opencodeTools, async () => connected(await openOpencodeWorld()))

/** opencode has no session before the first prompt, so the person greets it. */
async function atPrompt(world: ClientWorld, args: readonly string[] = []): Promise<Terminal> {
  const terminal = world.terminalOf([opencodeProgram(), ...args])
  await terminal.shows(AT_PROMPT, 60_000)
  await greet(world, terminal, 'hello there')
  return terminal
}

async function greet(world: ClientWorld, terminal: Terminal, text: string): Promise<void> {
  await say(terminal, text)
  await eventually(
    'it is answered',
    () => world.model.shown.find(({ fresh }) => fresh.includes(text)),
    30_000,
  )
  await world.turnIs('idle')
}

describeClient('a plain opencode with the plugin', {
  open,
  begins_by_turn: true,
  async begin(scene) {
    const terminal = await atPrompt(scene)
    return { say: (text) => say(terminal, text) }
  },
})

describe('a plain opencode with the plugin', () => {
  test('has subagents, also of its person, that cannot take its signals', async () => {
    const scene = await open()
    const terminal = await atPrompt(scene)
    const input = { description: 'a look', prompt: 'look around', subagent_type: 'digger' }
    scene.model.next(/ask a helper/, { tools: [{ name: 'task', input }] })
    scene.model.always(/look around/, scene.drain, 'sub')
    await say(terminal, 'ask a helper')
    const refused = await eventually('the helper is refused', () =>
      scene.model.shown.find(({ role, tool_results }) => role === 'sub' && tool_results.length > 0),
    )
    expect(refused.tool_results[0]).toContain("A subagent may not take the main agent's signals")
    await scene.settled([await scene.send('one')])
    expectOneBellPerTurn(scene.model, ['one'])
  })
})
