/**
 * The real opencode, joined to the server of the persona's daemon, with a real hub and a
 * scripted model, without a network. The assertions use what the model was shown: one doorbell per turn, then
 * the drained signals, each once.
 */
import fs from 'node:fs'
import path from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { notedPid, type ClientWorld } from '../support/clients/client-world.ts'
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
import { scenesOf } from '../support/clients/scene.ts'
import type { Terminal } from '../support/clients/terminal.ts'
import { describeClient } from '../suites/client.suite.ts'
import { endures } from '../suites/clean-stops.ts'

beforeAll(() => void opencodeProgram())

const open = scenesOf(opencodeTools, openOpencodeWorld)

async function atPrompt(world: ClientWorld, args: readonly string[] = []): Promise<Terminal> {
  const terminal = world.terminal(args)
  await terminal.shows(AT_PROMPT, 60_000)
  await world.turnIs('idle')
  return terminal
}

describeClient('opencode in a terminal', {
  // A killed hub or daemon is the same for every client, and opencode takes the longest to start.
  always: [
    'one bell for five signals',
    'no bell while a tool runs',
    'no bell in an interrupted turn',
    'a killed client',
  ],
  open,
  outlives_its_daemon: true,
  async begin(scene) {
    const terminal = await atPrompt(scene)
    return { terminal, say: (text) => say(terminal, text) }
  },
  interrupt: (_, { terminal }) => interrupt(terminal),
  rests_after_interrupt: true,
  async reset(_, { terminal }) {
    await newSession(terminal)
    await say(terminal, 'a fresh start')
  },
  kill: (_, { terminal }) => terminal.kill(),
  resume: (scene, session_id) => atPrompt(scene, ['--session', session_id]),
})

describe('opencode in a terminal', () => {
  test('opencode keeps a half-typed draft', { tags: ['extended'] }, async () => {
    const world = await open()
    const terminal = await atPrompt(world)
    terminal.type('a thought not yet finish')
    await terminal.shows(/a thought not yet finish/)
    await world.settled([await world.send('one')])
    await terminal.shows(/a thought not yet finish/)
    terminal.type('ed')
    await terminal.shows(/a thought not yet finished/)
    terminal.press('Enter')
    await eventually('the model is asked', () =>
      world.model.shown.find(({ fresh }) => /a thought not yet finished/.test(fresh)),
    )
    expectOneBellPerTurn(world.model, ['one'])
  })

  test(
    'opencode is not rung during an open permission request, and nothing is permitted',
    { tags: ['extended'] },
    async () => {
      const world = await open({ asks: true })
      const terminal = await atPrompt(world)
      const input = { command: 'touch asked-for', description: 'make a file' }
      world.model.next(/make a file/, { tools: [{ name: 'bash', input }] })
      await say(terminal, 'make a file')
      await terminal.shows(/Permission required/)
      const sent = await Promise.all(['1', '2'].map((payload) => world.send(payload)))
      await world.knows(2)
      expect((await world.status()).surface.turn).toBe('busy')
      expect(world.bells()).toEqual([])
      expect(fs.existsSync(path.join(world.project, 'asked-for'))).toBe(false)
      await terminal.answers(/Permission required/, 'Enter')
      await world.settled(sent)
      expectOneBellPerTurn(world.model, ['1', '2'])
      expect(fs.existsSync(path.join(world.project, 'asked-for'))).toBe(true)
    },
  )

  test('opencode is not rung after its person denied a permission, before their next turn', async () => {
    const world = await open({ asks: true })
    const terminal = await atPrompt(world)
    const input = { command: 'touch asked-for', description: 'make a file' }
    world.model.next(/make a file/, { tools: [{ name: 'bash', input }] })
    await say(terminal, 'make a file')
    await terminal.shows(/Permission required/)
    const sent = await world.send('one')
    await world.knows(1)
    await terminal.answers(/Permission required/, 'Escape')
    await world.turnIs('idle')
    await say(terminal, 'go on')
    await world.settled([sent])
    expectOneBellPerTurn(world.model, ['one'])
    expect(turnsOf(world.model).map((turn) => turn.bells.length)).toEqual([0, 0, 1])
    expect(fs.existsSync(path.join(world.project, 'asked-for'))).toBe(false)
  })

  test('opencode is not rung after its window was closed, but in the next window', async () => {
    const world = await open()
    const first = await atPrompt(world)
    await world.settled([await world.send('before')])
    const { session_id } = (await world.status()).surface
    await first.close()
    const missed = await world.send('between')
    await world.knows(1)
    await world.notify()
    expect(world.bells()).toHaveLength(1)
    await atPrompt(world, ['--session', session_id as string])
    await world.settled([missed])
    expect((await world.status()).surface.session_id).toBe(session_id)
    expectOneBellPerTurn(world.model, ['before', 'between'])
  })

  test('opencode keeps its window through every clean stop of the hub and daemon, and is rung again afterwards', async () => {
    const world = await open()
    const terminal = await atPrompt(world)
    await world.settled([await world.send('before')])
    await endures(world, {
      works: async (text) => {
        await say(terminal, text)
        await world.asked(new RegExp(text))
        await terminal.shows(new RegExp(`answer to ${text}`))
      },
      server: 'opencode',
      leave: () => terminal.close(),
    })
  })

  test('opencode has subagents that cannot drain, and is not rung in their sessions', async () => {
    const world = await open()
    const terminal = await atPrompt(world)
    const before = (await world.status()).surface.session_id
    const input = { description: 'a look', prompt: 'look around', subagent_type: 'general' }
    world.model.next(/ask a helper/, { tools: [{ name: 'task', input }] })
    await say(terminal, 'ask a helper')
    const helper = await eventually(
      'the helper is asked',
      () => world.model.shown.find(({ role, fresh }) => role === 'sub' && /look around/.test(fresh)),
      // The first turn in a directory, and a second session.
      60_000,
    )
    expect(helper.tools).toContain('turnbell_signals')
    expect(helper.tools).not.toContain(opencodeTools.drain)
    await world.settled([await world.send('one')])
    expect((await world.status()).surface.session_id).toBe(before)
    const turns = expectOneBellPerTurn(world.model, ['one'])
    expect(turns.map((turn) => turn.bells.length)).toEqual([0, 1])
  })

  test(
    'opencode is rung in the same session after its server was killed and restarted',
    { tags: ['extended'] },
    async () => {
      const world = await open()
      await atPrompt(world)
      await world.settled([await world.send('before')])
      const { session_id } = (await world.status()).surface
      process.kill(notedPid(world, 'opencode'), 'SIGKILL')
      await eventually('the daemon noticed', async () => (await world.status()).surface.turn === 'unknown')
      const sent = await world.send('after')
      await eventually(
        'the server is back',
        async () => (await world.status()).surface.turn !== 'unknown',
        60_000,
      )
      await world.settled([sent])
      expect((await world.status()).surface.session_id).toBe(session_id)
      expectOneBellPerTurn(world.model, ['before', 'after'])
    },
  )

  test('opencode gets its drained signals again after its server was killed during the turn', async () => {
    const world = await open()
    await atPrompt(world)
    const tool = world.longTool()
    world.model.next(/take this in hand/, tool.reply)
    const sent = await world.send('take this in hand')
    await world.asked(/take this in hand/)
    await world.turnIs('busy')
    process.kill(notedPid(world, 'opencode'), 'SIGKILL')
    await world.settled([sent])
    tool.end()
    expect(await world.read(sent)).toMatchObject({ deliveries: 2 })
    // The session keeps what the killed turn had read and shows it again.
    const handed = new Set(turnsOf(world.model).flatMap(({ handOuts }) => handOuts))
    expect([...handed]).toEqual(['take this in hand#1', 'take this in hand#2'])
  })
})
