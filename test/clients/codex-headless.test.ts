/**
 * A headless Codex: the persona's daemon keeps a thread, and the configuration answers the agent's permission
 * requests while no person is attached.
 */
import fs from 'node:fs'
import path from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { notedPid, type ClientWorld } from '../support/clients/client-world.ts'
import { CODEX_TOOLS, codexProgram, openCodexWorld } from '../support/clients/codex-world.ts'
import { expectOneBellPerTurn } from '../support/clients/conversation.ts'
import { eventually } from '../support/eventually.ts'
import { say } from '../support/clients/plain-codex.ts'
import { BELL, scenesOf } from '../support/clients/scene.ts'
import type { Terminal } from '../support/clients/terminal.ts'
import { describeClient } from '../suites/client.suite.ts'
import type { PersonaSettings } from '../../src/contracts/config.ts'

beforeAll(() => void codexProgram())

type Options = { permissions?: PersonaSettings['permissions']; asks?: boolean }

const open = scenesOf(CODEX_TOOLS, ({ permissions, asks = false }: Options = {}) =>
  openCodexWorld({
    asks,
    persona: { headless: true, project: '../project', permissions },
  }),
)

describeClient('Codex without a window', {
  always: ['no bell while a tool runs', 'a killed client'],
  open,
  says_by_signal: true,
  async begin(scene) {
    await scene.turnIs('idle')
    return { say: (text) => scene.send(text) }
  },
  async interrupt(scene) {
    const terminal = await joined(scene)
    await terminal.shows(/esc to interrupt/)
    terminal.press('Escape')
    await terminal.shows(/interrupted/i)
    await terminal.kill()
  },
  async reset(scene) {
    const terminal = await joined(scene)
    await say(terminal, '/new')
  },
  kill: (scene) => void process.kill(notedPid(scene, 'codex'), 'SIGKILL'),
})

/** A person joins the kept thread. */
async function joined(world: ClientWorld): Promise<Terminal> {
  const terminal = world.terminal()
  await terminal.shows(BELL)
  return terminal
}

/** A command that its sandbox does not allow. */
const ASK = {
  tools: [
    {
      name: 'exec_command',
      input: { cmd: 'touch asked-for', sandbox_permissions: 'require_escalated', justification: 'May I?' },
    },
  ],
}

/** A person has joined and gets a permission request. */
async function askedOfPerson() {
  const world = await open({ asks: true })
  await world.turnIs('idle')
  // A thread can be joined after its first message.
  await world.settled([await world.send('hello')])
  const terminal = await joined(world)
  world.model.next(/make a file/, ASK)
  const sent = await world.send('make a file')
  await terminal.shows(/May I\?/)
  return { world, terminal, sent }
}

describe('a headless Codex', () => {
  test('a headless Codex resumes its thread after its daemon was restarted', async () => {
    const world = await open()
    await world.turnIs('idle')
    await world.settled([await world.send('before')])
    const { session_id } = (await world.status()).surface
    await world.daemon.kill('SIGTERM')
    const missed = await world.send('meanwhile')
    await world.startDaemon()
    await world.turnIs('idle')
    await world.connected()
    const pushed = await world.send('after')
    await world.settled([missed, pushed])
    expect((await world.status()).surface.session_id).toBe(session_id)
    expectOneBellPerTurn(world.model, ['before', 'meanwhile', 'after'])
  })

  test.each([
    [undefined, false],
    ['allow', true],
  ] as const)(
    'a headless Codex with permissions %s runs a command that requires approval: %s, and its turn continues',
    async (permissions, done) => {
      const world = await open({ asks: true, ...(permissions === undefined ? {} : { permissions }) })
      await world.turnIs('idle')
      world.model.next(/make a file/, ASK)
      await world.settled([await world.send('make a file')])
      await world.settled([await world.send('and then')])
      expect(fs.existsSync(path.join(world.project, 'asked-for'))).toBe(done)
      expectOneBellPerTurn(world.model, ['make a file', 'and then'])
    },
  )

  test('a request to a user who has left is answered', async () => {
    const { world, terminal, sent } = await askedOfPerson()
    await terminal.kill()
    await world.settled([sent])
    expect(fs.existsSync(path.join(world.project, 'asked-for'))).toBe(false)
    await world.settled([await world.send('and then')])
    expectOneBellPerTurn(world.model, ['hello', 'make a file', 'and then'])
  })

  test(
    'a request in a thread that a person started and left is answered',
    { tags: ['extended'] },
    async () => {
      const world = await open({ asks: true })
      await world.turnIs('idle')
      await world.settled([await world.send('hello')])
      const { session_id } = (await world.status()).surface
      const terminal = await joined(world)
      await say(terminal, '/new')
      await eventually(
        'it is the new thread that is rung',
        async () => ![session_id, null].includes((await world.status()).surface.session_id),
      )
      await world.settled([await world.send('a fresh start')])
      await terminal.kill()
      world.model.next(/make a file/, ASK)
      await world.settled([await world.send('make a file')])
      await world.settled([await world.send('and then')])
      expect(fs.existsSync(path.join(world.project, 'asked-for'))).toBe(false)
      expectOneBellPerTurn(world.model, ['hello', 'a fresh start', 'make a file', 'and then'])
    },
  )

  test('a request is left to an attached person', async () => {
    const { world, terminal, sent } = await askedOfPerson()
    expect(fs.existsSync(path.join(world.project, 'asked-for'))).toBe(false)
    await terminal.answers(/Would you like to run/, 'y')
    await world.settled([sent])
    await eventually('the file is there', () => fs.existsSync(path.join(world.project, 'asked-for')))
    expectOneBellPerTurn(world.model, ['hello', 'make a file'])
  })
})
