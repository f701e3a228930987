/**
 * The real Codex, joined to the app-server of the persona's daemon, with a real hub and a
 * scripted model, without a network. The assertions use what the model was shown: one doorbell per turn, then
 * the drained signals, each once.
 */
import fs from 'node:fs'
import path from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { notedPid, type ClientWorld } from '../support/clients/client-world.ts'
import { codexProgram, openCodexWorld } from '../support/clients/codex-world.ts'
import { expectOneBellPerTurn } from '../support/clients/conversation.ts'
import { eventually } from '../support/eventually.ts'
import { scenesOf } from '../support/clients/scene.ts'
import type { Terminal } from '../support/clients/terminal.ts'
import { describeClient } from '../suites/client.suite.ts'
import { endures } from '../suites/clean-stops.ts'
import { isRungOnceWhileSlow } from '../suites/slow-client.ts'

beforeAll(() => void codexProgram())

const open = scenesOf(
  {
    drain: 'mcp__turnbell.signals_pending',
    shell: (cmd) => ({ name: 'exec_command', input: { cmd, yield_time_ms: 30_000 } }),
  },
  openCodexWorld,
)

async function atPrompt(world: ClientWorld, args: readonly string[] = []): Promise<Terminal> {
  const terminal = world.terminal(args)
  await terminal.shows(/Ask Codex to do anything/)
  await world.turnIs('idle')
  return terminal
}

async function say(terminal: Terminal, text: string): Promise<void> {
  terminal.type(text)
  // Codex treats Enter within a burst of keys as a pasted line break.
  await terminal.shows(new RegExp(`› ${text}`))
  terminal.press('Enter')
}

describeClient('Codex in a terminal', {
  open,
  outlives_its_daemon: true,
  async begin(scene) {
    const terminal = await atPrompt(scene)
    return { terminal, say: (text) => say(terminal, text) }
  },
  interrupt: (_, { terminal }) => terminal.press('Escape'),
  rests_after_interrupt: true,
  reset: (_, { say }) => say('/new'),
  kill: (_, { terminal }) => terminal.kill(),
  async resume(scene, session_id) {
    await scene.terminal(['resume', session_id]).shows(/before/)
  },
})

describe('Codex in a terminal', () => {
  test('Codex keeps a half-typed draft', async () => {
    const world = await open()
    const terminal = await atPrompt(world)
    terminal.type('a thought not yet finish')
    await terminal.shows(/› a thought not yet finish/)
    await world.settled([await world.send('one')])
    await terminal.shows(/› a thought not yet finish/)
    terminal.type('ed')
    await terminal.shows(/› a thought not yet finished/)
    terminal.press('Enter')
    await eventually('the model is asked', () =>
      world.model.shown.find(({ fresh }) => /not yet finished/.test(fresh)),
    )
    expectOneBellPerTurn(world.model, ['one'])
  })

  test('Codex is not rung during an open approval, and nothing is approved', async () => {
    const world = await open({ asks: true })
    const terminal = await atPrompt(world)
    const input = {
      cmd: 'touch asked-for',
      sandbox_permissions: 'require_escalated',
      justification: 'May I make a file?',
    }
    world.model.next(/make a file/, { tools: [{ name: 'exec_command', input }] })
    await say(terminal, 'make a file')
    await terminal.shows(/May I make a file/)
    const sent = await Promise.all(['1', '2'].map((payload) => world.send(payload)))
    await world.knows(2)
    expect((await world.status()).surface.turn).toBe('busy')
    expect(world.bells()).toEqual([])
    expect(fs.existsSync(path.join(world.project, 'asked-for'))).toBe(false)
    await terminal.answers(/Would you like to run/, 'y')
    await world.settled(sent)
    expectOneBellPerTurn(world.model, ['1', '2'])
    expect(fs.existsSync(path.join(world.project, 'asked-for'))).toBe(true)
  })

  test('Codex is not rung after its window was closed, but in the next window', async () => {
    const world = await open()
    const first = await atPrompt(world)
    await world.settled([await world.send('before')])
    const { session_id } = (await world.status()).surface
    await say(first, '/quit')
    await eventually('the client is gone', () => !first.alive())
    const missed = await world.send('between')
    await world.knows(1)
    await world.notify()
    expect(world.bells()).toHaveLength(1)
    const second = world.terminal(['resume', session_id as string])
    await second.shows(/before/)
    await world.settled([missed])
    expect((await world.status()).surface.session_id).toBe(session_id)
    expectOneBellPerTurn(world.model, ['before', 'between'])
  })

  test('Codex keeps its window through every clean stop of the hub and daemon, and is rung again afterwards', async () => {
    const world = await open()
    const terminal = await atPrompt(world)
    await world.settled([await world.send('before')])
    await endures(world, {
      works: async (text) => {
        await say(terminal, text)
        await world.asked(new RegExp(text))
        await eventually('it is answered', () => terminal.screen().includes(`answer to ${text}`))
      },
      server: 'codex',
      leave: () => say(terminal, '/quit'),
    })
  })

  test('Codex is rung once while client and model are slow by 30 s', { tags: ['extended'] }, async () => {
    const world = await open()
    await atPrompt(world)
    await isRungOnceWhileSlow(world, notedPid(world, 'codex'))
  })
})
