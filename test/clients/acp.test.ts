/**
 * Real agents behind the Agent Client Protocol, kept by the persona's daemon, against a real hub and a scripted
 * model, without a network. What counts is what the model was shown: one doorbell per turn, then the drained
 * signals, each of them once.
 */
import fs from 'node:fs'
import path from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { describeClient } from '../suites/client.suite.ts'
import { leaveAsked, openOpencodeAcpWorld, sessionsOpened, shimPid } from '../support/acp-world.ts'
import { notedPid } from '../support/client-world.ts'
import { expectOneBellPerTurn, turnsOf } from '../support/conversation.ts'
import { eventually } from '../support/eventually.ts'
import { opencodeProgram } from '../support/opencode-world.ts'
import { scenesOf, type Scene } from '../support/scene.ts'
import { processAlive } from '../../src/system/processes.ts'

const open = scenesOf(
  {
    drain: 'turnbell_signals_pending',
    shell: (command) => ({ name: 'bash', input: { command, description: 'wait' } }),
  },
  openOpencodeAcpWorld,
)

beforeAll(() => void opencodeProgram())

/** Its daemon starts the agent, which takes its time until it has a session. */
const begun = (scene: Scene) =>
  eventually('the agent is ready', async () => (await scene.status()).surface.turn === 'idle', 60_000)

describeClient('opencode acp', {
  always: ['no bell while a tool runs'],
  open: () => open(),
  begin: async (scene) => {
    await begun(scene)
    return { say: (text) => scene.send(text) }
  },
  says_by_signal: true,
})

/** A signal makes the agent run a tool that lasts; answers once it runs. */
async function inTheMiddle(scene: Scene) {
  const tool = scene.longTool()
  scene.model.next(/work long/, tool.reply)
  const sent = await scene.send('work long')
  await scene.asked(/work long/)
  return { tool, sent }
}

const isGone = (pid: number) => eventually(`the process ${pid} is gone`, () => !processAlive(pid))

/** After one bell each; the next agent goes on where the former left off, and shows what that was handed too. */
async function handedOutAgain(scene: Scene, sent: string): Promise<void> {
  await begun(scene)
  await scene.settled([sent])
  const handOuts = new Set(turnsOf(scene.model).flatMap((turn) => turn.handOuts))
  expect([...handOuts]).toEqual(['work long#1', 'work long#2'])
  expect(scene.bells()).toHaveLength(2)
}

describe('opencode acp', () => {
  test('has subagents that cannot take its signals', async () => {
    const scene = await open()
    await begun(scene)
    const input = { description: 'a look', prompt: 'look around', subagent_type: 'general' }
    scene.model.next(/ask a helper/, { tools: [{ name: 'task', input }] })
    await scene.settled([await scene.send('ask a helper')])
    const helper = scene.model.shown.find(({ role, fresh }) => role === 'sub' && /look around/.test(fresh))
    expect(helper?.tools).toContain('turnbell_signals')
    expect(helper?.tools).not.toContain('turnbell_signals_pending')
    expectOneBellPerTurn(scene.model, ['ask a helper'])
  })

  test('that asks leave is refused, except for taking its signals', async () => {
    const scene = await open({ asks: true })
    await begun(scene)
    const command = `touch ${path.join(scene.project, 'asked-for')}`
    scene.model.next(/make a file/, { tools: [scene.tools.shell(command)] })
    await scene.settled([await scene.send('make a file')])
    expect(fs.existsSync(path.join(scene.project, 'asked-for'))).toBe(false)
    expect(leaveAsked(scene)).toEqual([
      { own: true, decided: 'allowed' },
      { own: false, decided: 'rejected' },
    ])
    expectOneBellPerTurn(scene.model, ['make a file'])
  })

  test(
    'that asks leave gets it once each time, where its persona allows',
    { tags: ['extended'] },
    async () => {
      const scene = await open({ asks: true, permissions: 'allow' })
      await begun(scene)
      for (const name of ['one', 'two']) {
        const command = `touch ${path.join(scene.project, name)}`
        scene.model.next(new RegExp(`make ${name}`), { tools: [scene.tools.shell(command)] })
        await scene.settled([await scene.send(`make ${name}`)])
        expect(fs.existsSync(path.join(scene.project, name))).toBe(true)
      }
      expect(leaveAsked(scene).filter(({ own }) => !own)).toHaveLength(2)
    },
  )

  test('that is killed while idle goes on with its session', { tags: ['extended'] }, async () => {
    const scene = await open()
    await begun(scene)
    await scene.settled([await scene.send('before')])
    process.kill(notedPid(scene, 'acp'), 'SIGKILL')
    await eventually('the daemon noticed', async () => (await scene.status()).surface.turn === 'unknown')
    await begun(scene)
    await scene.settled([await scene.send('after')])
    expectOneBellPerTurn(scene.model, ['before', 'after'])
    const sessions = sessionsOpened(scene)
    expect(sessions).toHaveLength(2)
    expect(new Set(sessions).size).toBe(1)
  })

  test('that is killed in its turn gets what it had drained again', async () => {
    const scene = await open()
    await begun(scene)
    const { sent } = await inTheMiddle(scene)
    const pid = notedPid(scene, 'acp')
    process.kill(pid, 'SIGKILL')
    await handedOutAgain(scene, sent)
    expect(notedPid(scene, 'acp')).not.toBe(pid)
  })

  test('leaves nothing behind when its shim is killed, and comes back', async () => {
    const scene = await open()
    await begun(scene)
    const { sent } = await inTheMiddle(scene)
    const pid = notedPid(scene, 'acp')
    process.kill(shimPid(scene), 'SIGKILL')
    await isGone(pid)
    await handedOutAgain(scene, sent)
  })

  test('ends with its daemon', async () => {
    const scene = await open()
    await begun(scene)
    const pid = notedPid(scene, 'acp')
    await scene.daemon.kill('SIGTERM')
    await isGone(pid)
  })
})
