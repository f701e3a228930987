/**
 * Codex in a terminal that keeps its thread to itself, without an app-server. Its hooks report its turns, and its
 * queue is read every few seconds.
 */
import { beforeAll, describe, expect, test } from 'vitest'
import { PERSONA } from '../support/clients/client-world.ts'
import { CODEX_TOOLS, codexProgram, openCodexWorld } from '../support/clients/codex-world.ts'
import { expectOneBellPerTurn } from '../support/clients/conversation.ts'
import { eventually } from '../support/eventually.ts'
import { plainCodex, say, wire } from '../support/clients/plain-codex.ts'
import { scenesOf } from '../support/clients/scene.ts'
import type { Terminal } from '../support/clients/terminal.ts'

beforeAll(() => void codexProgram())

const open = scenesOf(CODEX_TOOLS, openCodexWorld)

type World = Awaited<ReturnType<typeof open>>

async function embedded(world: World): Promise<Terminal> {
  await wire(world, { persona: PERSONA, hooks: true })
  const terminal = await plainCodex(world, { args: ['--no-daemon'] })
  await say(terminal, 'hello')
  await eventually(
    'the daemon knows the thread',
    async () => (await world.status()).surface.session_id,
    30_000,
  )
  await world.turnIs('idle')
  // The first prompt is not part of the scene.
  world.model.shown.splice(0)
  return terminal
}

describe('Codex in a terminal of its own', () => {
  test(
    'Codex in its own terminal is rung once for three signals while idle',
    { tags: ['extended'] },
    async () => {
      const world = await open()
      await embedded(world)
      const payloads = ['1', '2', '3']
      await world.settled(await Promise.all(payloads.map((payload) => world.send(payload))))
      const turns = expectOneBellPerTurn(world.model, payloads)
      expect(turns).toHaveLength(1)
    },
  )

  test('Codex in its own terminal is not rung while a tool runs, and once after its turn', async () => {
    const world = await open()
    const terminal = await embedded(world)
    const tool = world.longTool()
    world.model.next(/use your tool/, tool.reply)
    await say(terminal, 'use your tool')
    await world.asked(/use your tool/)
    await world.turnIs('busy')
    const sent = await world.send('one')
    await world.knows(1)
    expect(world.bells()).toEqual([])
    tool.end()
    await world.settled([sent])
    const turns = expectOneBellPerTurn(world.model, ['one'])
    expect(turns.map(({ bells }) => bells.length)).toEqual([0, 1])
  })

  test('Codex in its own terminal is not rung after an interrupt, but at the end of the next turn', async () => {
    const world = await open({ daemon: { bell_receipt_ms: 15_000 } })
    const terminal = await embedded(world)
    const tool = world.longTool()
    world.model.next(/use your tool/, tool.reply)
    await say(terminal, 'use your tool')
    await world.asked(/use your tool/)
    await world.turnIs('busy')
    const sent = await world.send('one')
    await world.knows(1)
    terminal.press('Escape')
    await world.turnIs('idle')
    expect(world.bells()).toEqual([])
    await say(terminal, 'go on')
    await world.settled([sent])
    const turns = expectOneBellPerTurn(world.model, ['one'])
    expect(turns.at(-1)?.bells).toHaveLength(1)
  })

  test('Codex in its own terminal is absent when the person leaves', { tags: ['extended'] }, async () => {
    const world = await open()
    const terminal = await embedded(world)
    await say(terminal, '/quit')
    await eventually('the client is gone', () => !terminal.alive())
    await eventually('nobody is there', async () => (await world.status()).surface.turn === 'unknown')
  })

  test('Codex in its own terminal is absent when it is killed, also for the next daemon', async () => {
    const world = await open()
    const terminal = await embedded(world)
    await terminal.kill()
    await eventually('nobody is there', async () => !(await world.status()).surface.attached)
    await world.daemon.kill('SIGKILL')
    const { child } = await world.startDaemon()
    await world.connected()
    const sent = await world.send('one')
    await world.knows(1)
    await eventually('the next daemon has looked for the thread', () =>
      world
        .log<{ pid: number; line?: string }>(`${PERSONA}.log`)
        .some(({ pid, line }) => pid === child.pid && line?.includes('Codex process of a thread has exited')),
    )
    expect((await world.status()).surface).toMatchObject({ attached: false, session_id: null })
    const next = await plainCodex(world, { args: ['--no-daemon'] })
    await say(next, 'here I am')
    await world.settled([sent])
    expectOneBellPerTurn(world.model, ['one'])
  })
})
