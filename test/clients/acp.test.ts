/**
 * Real agents behind the Agent Client Protocol, kept by the persona's daemon, with a real hub and a scripted
 * model, without a network. The assertions use what the model was shown: one doorbell per turn, then the drained
 * signals, each once.
 */
import fs from 'node:fs'
import path from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { describeClient } from '../suites/client.suite.ts'
import {
  permissionsAnswered,
  openOpencodeAcpWorld,
  sessionsOpened,
  shimPid,
} from '../support/clients/acp-world.ts'
import { notedPid } from '../support/clients/client-world.ts'
import { expectOneBellPerTurn, turnsOf } from '../support/clients/conversation.ts'
import { eventually } from '../support/eventually.ts'
import { opencodeProgram } from '../support/clients/opencode-world.ts'
import { scenesOf, type Scene } from '../support/clients/scene.ts'
import { processAlive } from '../../src/system/process/process-info.ts'

const open = scenesOf(
  {
    drain: 'turnbell_signals_pending',
    shell: (command) => ({ name: 'bash', input: { command, description: 'wait' } }),
  },
  openOpencodeAcpWorld,
)

beforeAll(() => void opencodeProgram())

/** The daemon starts the agent, which needs some time to open a session. */
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

/** A signal makes the agent run a slow tool; resolves when the tool runs. */
async function inTheMiddle(scene: Scene) {
  const tool = scene.longTool()
  scene.model.next(/work long/, tool.reply)
  const sent = await scene.send('work long')
  await scene.asked(/work long/)
  return { tool, sent }
}

const isGone = (pid: number) => eventually(`the process ${pid} is gone`, () => !processAlive(pid))

/** After one doorbell each; the next agent resumes the session and also shows what the former one received. */
async function handedOutAgain(scene: Scene, sent: string): Promise<void> {
  await begun(scene)
  await scene.settled([sent])
  const handOuts = new Set(turnsOf(scene.model).flatMap((turn) => turn.handOuts))
  expect([...handOuts]).toEqual(['work long#1', 'work long#2'])
  expect(scene.bells()).toHaveLength(2)
}

describe('opencode acp', () => {
  test('opencode acp has subagents that cannot drain', { tags: ['extended'] }, async () => {
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

  test('opencode acp has its permission requests rejected, except for drains', async () => {
    const scene = await open({ asks: true })
    await begun(scene)
    const command = `touch ${path.join(scene.project, 'asked-for')}`
    scene.model.next(/make a file/, { tools: [scene.tools.shell(command)] })
    await scene.settled([await scene.send('make a file')])
    expect(fs.existsSync(path.join(scene.project, 'asked-for'))).toBe(false)
    expect(permissionsAnswered(scene)).toEqual([
      { own: true, decided: 'allowed' },
      { own: false, decided: 'rejected' },
    ])
    expectOneBellPerTurn(scene.model, ['make a file'])
  })

  test(
    'opencode acp has its permission requests allowed once each if its persona allows',
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
      expect(permissionsAnswered(scene).filter(({ own }) => !own)).toHaveLength(2)
    },
  )

  test('opencode acp that is killed while idle resumes its session', { tags: ['extended'] }, async () => {
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

  test('opencode acp that is killed during a turn gets its drained signals again', async () => {
    const scene = await open()
    await begun(scene)
    const { sent } = await inTheMiddle(scene)
    const pid = notedPid(scene, 'acp')
    process.kill(pid, 'SIGKILL')
    await handedOutAgain(scene, sent)
    expect(notedPid(scene, 'acp')).not.toBe(pid)
  })

  test('opencode acp leaves no process when its shim is killed, and is restarted', async () => {
    const scene = await open()
    await begun(scene)
    const { sent } = await inTheMiddle(scene)
    const pid = notedPid(scene, 'acp')
    process.kill(shimPid(scene), 'SIGKILL')
    await isGone(pid)
    await handedOutAgain(scene, sent)
  })

  test('opencode acp exits with its daemon', async () => {
    const scene = await open()
    await begun(scene)
    const pid = notedPid(scene, 'acp')
    await scene.daemon.kill('SIGTERM')
    await isGone(pid)
  })
})
