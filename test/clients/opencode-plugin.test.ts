/**
 * A plain opencode, started without turnbell and connected only by its own configuration file: the plugin makes
 * its window a surface.
 */
import fs from 'node:fs'
import path from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { PERSONA, type ClientWorld } from '../support/clients/client-world.ts'
import { expectOneBellPerTurn, turnsOf } from '../support/clients/conversation.ts'
import { eventually } from '../support/eventually.ts'
import {
  AT_PROMPT,
  interrupt,
  newSession,
  opencodeProgram,
  opencodeTools,
  openOpencodeWorld,
  say,
} from '../support/clients/opencode-world.ts'
import { BIN } from '../support/processes/processes.ts'
import { scenesOf, type Scene } from '../support/clients/scene.ts'
import type { Terminal } from '../support/clients/terminal.ts'
import { describeClient } from '../suites/client.suite.ts'

const PLUGIN = path.join(path.dirname(BIN), 'adapters/opencode/plugin.js')

beforeAll(() => void opencodeProgram())

/** The configuration that `turnbell connect opencode` writes into a project. */
function connected(world: ClientWorld, permission: object = {}): ClientWorld {
  const home = path.join(world.directory, 'turnbell')
  const bridge = [process.execPath, BIN, 'mcp', '--client', 'opencode', '--persona', PERSONA, '--home', home]
  const settings = {
    plugin: [[`file://${PLUGIN}`, { persona: PERSONA, home }]],
    mcp: { turnbell: { type: 'local', command: bridge, enabled: true } },
    permission: { turnbell_signals_pending: 'allow', turnbell_signals: 'allow', ...permission },
    agent: AGENTS,
  }
  fs.writeFileSync(path.join(world.project, 'opencode.json'), JSON.stringify(settings))
  return world
}

/** Written into every project. */
const AGENTS = { digger: { mode: 'subagent', description: 'digs', prompt: 'You dig.' } }

const open = scenesOf(opencodeTools, async () => connected(await openOpencodeWorld()))
const openAsking = scenesOf(opencodeTools, async () => connected(await openOpencodeWorld(), { bash: 'ask' }))
const openUnconnected = scenesOf(opencodeTools, async () => {
  const world = await openOpencodeWorld()
  fs.writeFileSync(path.join(world.project, 'opencode.json'), JSON.stringify({ agent: AGENTS }))
  return world
})

/** opencode has no session before the first prompt, so the person sends one. */
async function atPrompt(world: ClientWorld, args: readonly string[] = []): Promise<Terminal> {
  const terminal = world.terminalOf([opencodeProgram(), ...args])
  await terminal.shows(AT_PROMPT, 60_000)
  await greet(world, terminal, 'hello there')
  return terminal
}

async function greet(world: ClientWorld, terminal: Terminal, text: string): Promise<void> {
  await say(terminal, text)
  // The first turn in a directory begins many seconds after the request for its title.
  const shown = () => world.model.shown.find(({ role, fresh }) => role === 'main' && fresh.includes(text))
  await eventually('it is answered', shown, 60_000)
  await world.turnIs('idle')
}

describeClient('a plain opencode with the plugin', {
  always: ['no bell while a tool runs'],
  open,
  begins_by_turn: true,
  async begin(scene) {
    const terminal = await atPrompt(scene)
    return { terminal, say: (text) => say(terminal, text) }
  },
  interrupt: (_, { terminal }) => interrupt(terminal),
  rests_after_interrupt: true,
  async reset(scene, { terminal }) {
    await newSession(terminal)
    await greet(scene, terminal, 'a fresh start')
  },
  async kill(scene, { terminal }) {
    await terminal.kill()
    await eventually('nobody is there', async () => (await scene.status()).surface.turn === 'unknown')
  },
  async resume(scene, session_id) {
    const terminal = scene.terminalOf([opencodeProgram(), '--session', session_id])
    await terminal.shows(/bell/, 60_000)
    await greet(scene, terminal, 'here again')
  },
})

/** A person's subagent cannot drain in this kind of window. */
async function refusesSubagent(scene: Scene, terminal: Terminal): Promise<void> {
  const input = { description: 'a look', prompt: 'look around', subagent_type: 'digger' }
  scene.model.next(/ask a helper/, { tools: [{ name: 'task', input }] })
  scene.model.always(/look around/, scene.drain, 'sub')
  await say(terminal, 'ask a helper')
  const refused = await eventually(
    'the helper is refused',
    () => scene.model.shown.find(({ role, tool_results }) => role === 'sub' && tool_results.length > 0),
    60_000,
  )
  expect(refused.tool_results[0]).toContain("A subagent cannot drain the main agent's signals")
  await scene.settled([await scene.send('one')])
  expectOneBellPerTurn(scene.model, ['one'])
}

describe("a person's subagents cannot drain", () => {
  test('in a plain opencode with the plugin', { tags: ['extended'] }, async () => {
    const scene = await open()
    await refusesSubagent(scene, await atPrompt(scene))
  })

  test("in the persona's own server", { tags: ['extended'] }, async () => {
    const scene = await openUnconnected()
    const terminal = scene.terminal()
    await terminal.shows(AT_PROMPT, 60_000)
    await scene.turnIs('idle')
    await refusesSubagent(scene, terminal)
  })
})

describe('a plain opencode with the plugin', () => {
  test(
    'a plain opencode is rung in the session to which its person returns',
    { tags: ['extended'] },
    async () => {
      const scene = await open()
      const terminal = await atPrompt(scene)
      const first = (await scene.status()).surface.session_id
      await newSession(terminal)
      await greet(scene, terminal, 'a fresh start')
      const second = (await scene.status()).surface.session_id
      expect(second).not.toBe(first)
      terminal.press('C-x', 'l')
      await terminal.shows(/Sessions/)
      terminal.press('Down')
      terminal.press('Enter')
      await terminal.shows(/hello there/)
      await greet(scene, terminal, 'back again')
      expect((await scene.status()).surface.session_id).toBe(first)
      await scene.settled([await scene.send('one')])
      expectOneBellPerTurn(scene.model, ['one'])
      await terminal.shows(/\(bell/)
    },
  )

  test(
    'a plain opencode is not rung after its person denied a permission',
    { tags: ['extended'] },
    async () => {
      const scene = await openAsking()
      const terminal = await atPrompt(scene)
      const input = { command: 'touch asked-for', description: 'make a file' }
      scene.model.next(/make a file/, { tools: [{ name: 'bash', input }] })
      await say(terminal, 'make a file')
      await terminal.shows(/Permission required/)
      const sent = await scene.send('one')
      await scene.knows(1)
      await terminal.answers(/Permission required/, 'Escape')
      await scene.turnIs('idle')
      await say(terminal, 'go on')
      await scene.settled([sent])
      expectOneBellPerTurn(scene.model, ['one'])
      expect(turnsOf(scene.model).map((turn) => turn.bells.length)).toEqual([0, 0, 0, 1])
    },
  )

  test('a plain opencode is absent without its window, and the next window is the surface', async () => {
    const scene = await open()
    const first = await atPrompt(scene)
    await first.close()
    await eventually('nobody is there', async () => (await scene.status()).surface.turn === 'unknown')
    const missed = await scene.send('while nobody was there')
    await scene.knows(1)
    await atPrompt(scene)
    await scene.settled([missed])
    expectOneBellPerTurn(scene.model, ['while nobody was there'])
  })
})
