/**
 * A plain Codex on the shared app-server of all terminals, in a project that is connected to a persona. Only its
 * own calls and hooks show for which persona a thread acts.
 */
import fs from 'node:fs'
import path from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { OWN_SERVER_PERSONA } from '../../src/contracts/clients/codex.ts'
import { PERSONA, type ClientWorld } from '../support/clients/client-world.ts'
import { CODEX_TOOLS, codexProgram, openCodexWorld } from '../support/clients/codex-world.ts'
import { expectOneBellPerTurn } from '../support/clients/conversation.ts'
import { eventually } from '../support/eventually.ts'
import type { Shown } from '../support/clients/model-server.ts'
import { newThread, plainCodex, say, wire } from '../support/clients/plain-codex.ts'
import { scenesOf } from '../support/clients/scene.ts'
import type { Terminal } from '../support/clients/terminal.ts'
import { describeClient } from '../suites/client.suite.ts'

beforeAll(() => void codexProgram())

const open = scenesOf(CODEX_TOOLS, openCodexWorld)

/** Codex does not report a thread before its first prompt. */
async function introduced(world: ClientWorld, terminal: Terminal, persona = PERSONA): Promise<void> {
  await say(terminal, `I am ${persona}`)
  await terminal.shows(/Done\./)
  const known = async () => {
    const { surface } = await world.status(persona)
    return surface.session_id !== null && surface.turn === 'idle'
  }
  await eventually(`the daemon of ${persona} knows the thread`, known, 30_000)
}

describeClient('A plain Codex', {
  always: [
    ...(['no bell while a tool runs', 'no bell in an interrupted turn'] as const),
    ...(['a new session', 'a daemon killed in a turn'] as const),
  ],
  open,
  async begin(scene) {
    await wire(scene, { persona: PERSONA, hooks: true })
    const terminal = await plainCodex(scene)
    await introduced(scene, terminal)
    // The first prompt is not part of the scene.
    scene.model.shown.splice(0)
    return { terminal, say: (text) => say(terminal, text) }
  },
  interrupt: (_, { terminal }) => terminal.press('Escape'),
  rests_after_interrupt: true,
  outlives_its_daemon: true,
  async reset(scene, { terminal }) {
    await newThread(terminal)
    await introduced(scene, terminal)
  },
  kill: (_, { terminal }) => terminal.kill(),
  async resume(scene, session_id) {
    await scene.terminalOf([codexProgram(), 'resume', session_id]).shows(/before/)
  },
})

describe('A plain Codex', () => {
  test('a plain Codex without trusted hooks is known by its first call of a turnbell tool', async () => {
    const world = await open()
    await wire(world, { persona: PERSONA })
    const terminal = await plainCodex(world)
    const missed = await world.send('before it was known')
    // Codex calls its model before its MCP servers have started, and then does not know the tool.
    const offers = ({ tools }: Shown) => tools.includes(world.tools.drain)
    world.model.always(/look by yourself/, (shown) => (offers(shown) ? world.drain : { text: 'Not yet.' }))
    const asked = () =>
      world.model.shown.filter(({ role, fresh }) => role === 'main' && /look by yourself/.test(fresh))
    for (let turn = 0; !asked().some(offers); turn += 1) {
      await say(terminal, 'look by yourself')
      await eventually('the model is asked', () => asked()[turn])
    }
    await world.settled([missed])
    await world.settled([await world.send('after')])
    expect(world.bells()).toHaveLength(1)
    // The persona's own app-server was never started.
    expect(fs.existsSync(path.join(world.directory, 'turnbell/run/local', PERSONA, 'codex.pid'))).toBe(false)
  })

  test('plain Codexes of two personas are rung in their own threads on one shared app-server', async () => {
    const world = await open({ others: { bob: { surface: 'codex' } } })
    await world.startDaemon('bob')
    const project = path.join(world.directory, 'other')
    fs.mkdirSync(project)
    await wire(world, { persona: PERSONA, hooks: true })
    await wire(world, { persona: 'bob', project, hooks: true })
    const ada = await plainCodex(world)
    await introduced(world, ada)
    const bob = await plainCodex(world, { project })
    await introduced(world, bob, 'bob')
    const sessions = [
      (await world.status()).surface.session_id,
      (await world.status('bob')).surface.session_id,
    ]
    expect(new Set(sessions).size).toBe(2)

    await world.settled([await world.send('for ada')])
    await ada.shows(/\(bell /)
    expect(bob.screen()).not.toMatch(/\(bell /)

    const sent = await world.send('for bob', 'bob')
    await eventually('bob has it', async () => (await world.read(sent)).stages.confirmed_at)
    await eventually('bob rests', async () => (await world.status('bob')).surface.turn === 'idle')
    await bob.shows(/\(bell /)
    expect(ada.screen().match(/\(bell /g)).toHaveLength(1)
    expectOneBellPerTurn(world.model, ['for ada', 'for bob'])
  })

  test("a plain Codex in one persona's project acts for the persona of `turnbell run`", async () => {
    const world = await open({ others: { bob: { surface: 'codex' } } })
    await world.startDaemon('bob')
    await wire(world, { persona: 'bob', hooks: true })
    const ada = world.terminal()
    await ada.shows(/Ask Codex to do anything/)
    world.model.next(/whose is it/, {
      tools: [CODEX_TOOLS.shell(`echo "<$${OWN_SERVER_PERSONA}>" > whose`)],
    })
    await say(ada, 'whose is it')
    await ada.shows(/Done\./)
    await world.settled([await world.send('for ada')])
    // Its hooks have run and would have reported it.
    const told = path.join(world.directory, 'turnbell/run/local/bob/codex-threads.jsonl')
    expect(fs.existsSync(told)).toBe(false)
    // A Codex that the agent starts is not taken for the agent's own.
    expect(fs.readFileSync(path.join(world.project, 'whose'), 'utf8')).toBe('<>\n')

    const bob = await plainCodex(world)
    await introduced(world, bob, 'bob')
    expect(fs.existsSync(told)).toBe(true)
    expectOneBellPerTurn(world.model, ['for ada'])
  })
})
