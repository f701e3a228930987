/** A headless opencode: the persona's daemon keeps its session, and no person is present. */
import fs from 'node:fs'
import path from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { notedPid, type ClientWorld } from '../support/clients/client-world.ts'
import { expectOneBellPerTurn } from '../support/clients/conversation.ts'
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
import { describeClient } from '../suites/client.suite.ts'
import { isRungOnceWhileSlow } from '../suites/slow-client.ts'
import type { Permissions } from '../../src/contracts/config.ts'

beforeAll(() => void opencodeProgram())

/** The project is configured relative to turnbell's home. */
const open = scenesOf(opencodeTools, (asks?: boolean, permissions: Permissions = 'reject') =>
  openOpencodeWorld({ asks: asks === true, persona: { headless: true, project: '../project', permissions } }),
)

/** The server starts with the daemon and needs some time. */
const isThere = (world: ClientWorld) =>
  eventually('the session is there', async () => (await world.status()).surface.turn === 'idle', 60_000)

describeClient('opencode without a window', {
  always: ['no bell while a tool runs', 'a killed client'],
  open,
  says_by_signal: true,
  async begin(scene) {
    await isThere(scene)
    return { say: (text) => scene.send(text) }
  },
  async interrupt(scene) {
    const terminal = scene.terminal()
    await interrupt(terminal)
    // Requests are left to an attached person.
    await terminal.close()
  },
  async reset(scene) {
    const terminal = scene.terminal()
    await newSession(terminal)
    await say(terminal, 'a fresh start')
  },
  kill: (scene) => void process.kill(notedPid(scene, 'opencode'), 'SIGKILL'),
})

describe('a headless opencode', () => {
  test.each([
    ['reject', 'No person is present to permit this.', false],
    ['allow', 'made it', true],
  ] as const)(
    'a headless opencode gets %s as permission answer and continues',
    async (permissions, told, made) => {
      const scene = await open(true, permissions)
      await isThere(scene)
      const file = path.join(scene.project, 'asked-for')
      scene.model.next(/make a file/, { tools: [opencodeTools.shell(`touch ${file} && echo made it`)] })
      await scene.settled([await scene.send('make a file')])
      await scene.asked(new RegExp(told))
      expect(fs.existsSync(file)).toBe(made)
      await scene.settled([await scene.send('another')])
      expectOneBellPerTurn(scene.model, ['make a file', 'another'])
    },
  )

  test('requests are left to an attached person and answered after they left', async () => {
    const scene = await open(true, 'allow')
    await isThere(scene)
    const terminal = scene.terminal()
    await terminal.shows(AT_PROMPT, 60_000)
    const file = path.join(scene.project, 'asked-for')
    scene.model.next(/make a file/, { tools: [opencodeTools.shell(`touch ${file} && echo made it`)] })
    await say(terminal, 'make a file')
    await terminal.shows(/Permission required/, 60_000)
    const sent = await scene.send('meanwhile')
    await scene.knows(1)
    expect((await scene.status()).surface.turn).toBe('busy')
    expect(fs.existsSync(file)).toBe(false)
    await terminal.close()
    await scene.asked(/made it/)
    await scene.settled([sent])
    expectOneBellPerTurn(scene.model, ['meanwhile'])
  })

  test('a headless opencode is rung once after a failed turn', { tags: ['extended'] }, async () => {
    const scene = await open()
    await isThere(scene)
    // The failed prompt is unanswered in the conversation, so the next request shows it together with the doorbell.
    const terminal = scene.terminal()
    await terminal.shows(AT_PROMPT, 60_000)
    let fail = () => {}
    const after = new Promise<void>((resolve) => (fail = resolve))
    scene.model.next(/work on this/, { after, fails: 400 })
    await say(terminal, 'work on this')
    await scene.asked(/work on this/)
    const sent = await scene.send('meanwhile')
    await scene.knows(1)
    fail()
    await scene.settled([sent])
    expectOneBellPerTurn(scene.model, ['meanwhile'])
  })

  test(
    'a headless opencode resumes its session in the next daemon, and a person may join it',
    { tags: ['extended'] },
    async () => {
      const scene = await open()
      await isThere(scene)
      const { session_id } = (await scene.status()).surface
      await scene.settled([await scene.send('before')])
      await scene.daemon.kill('SIGTERM')
      await scene.startDaemon()
      await isThere(scene)
      expect((await scene.status()).surface.session_id).toBe(session_id)
      const terminal = scene.terminal()
      await terminal.shows(AT_PROMPT, 60_000)
      await terminal.shows(/\(bell/)
      await say(terminal, 'hello there')
      await scene.asked(/hello there/)
      await eventually('it is answered', async () => (await scene.status()).surface.turn === 'idle')
      await scene.settled([await scene.send('after')])
      expect((await scene.status()).surface.session_id).toBe(session_id)
      expectOneBellPerTurn(scene.model, ['before', 'after'])
    },
  )

  test(
    'a headless opencode is rung once while client and model are slow by 30 s',
    { tags: ['extended'] },
    async () => {
      const scene = await open()
      await isThere(scene)
      await isRungOnceWhileSlow(scene, notedPid(scene, 'opencode'))
    },
  )
})
