/** A Claude Code without a window, kept by its persona's daemon: nobody types, everything comes as a signal. */
import fs from 'node:fs'
import path from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { claudeProgram, inboxIs, openClaudeWorld, type ClaudeOptions } from '../support/claude-world.ts'
import { expectOneBellPerTurn, turnsOf } from '../support/conversation.ts'
import { eventually } from '../support/eventually.ts'
import { scenesOf } from '../support/scene.ts'
import { describeClient } from '../suites/client.suite.ts'

beforeAll(() => void claudeProgram())

const TOOLS = {
  drain: 'mcp__plugin_turnbell_hub__signals_pending',
  shell: (command: string) => ({ name: 'Bash', input: { command, description: 'wait for the scene' } }),
}
const openWorld = scenesOf(TOOLS, openClaudeWorld)

/** Below the home, as a configuration names it. */
const KEPT = { surface: 'claude-code', headless: true, project: '../project' } as const
const open = ({ persona, ...options }: ClaudeOptions = {}) =>
  openWorld({ persona: { ...KEPT, ...persona }, ...options })

type Scene = Awaited<ReturnType<typeof open>>

/** The client's process, as the one that keeps it noted it. */
function note(scene: Scene): { pid: number; session_id: string; begun: boolean } {
  const file = path.join(scene.directory, 'turnbell/run/local/ada/claude-headless.json')
  return JSON.parse(fs.readFileSync(file, 'utf8')) as ReturnType<typeof note>
}

describeClient('Claude Code kept by the daemon', {
  always: ['no bell while a tool runs'],
  open: () => open({ persona: { permissions: 'allow' } }),
  async begin(scene) {
    await scene.turnIs('idle')
    return { say: (text) => scene.send(text) }
  },
  says_by_signal: true,
})

describe('Claude Code kept by the daemon', () => {
  test('is started again when it was killed, and goes on with its session', async () => {
    const scene = await open()
    await scene.turnIs('idle')
    await scene.settled([await scene.send('before')])
    const killed = note(scene)
    process.kill(killed.pid, 'SIGKILL')
    await eventually('another client runs', () => note(scene).pid !== killed.pid)
    await eventually('the surface is there again', async () => (await scene.status()).surface.attached)
    await scene.turnIs('idle')
    await scene.connected()
    await scene.settled([await scene.send('after')])
    expect(note(scene).session_id).toBe(killed.session_id)
    expectOneBellPerTurn(scene.model, ['before', 'after'])
    expect((await scene.status()).restarts).toBe(1)
  })

  test('is one client when its daemon is killed and comes back', async () => {
    const scene = await open()
    await scene.turnIs('idle')
    await scene.settled([await scene.send('before')])
    const first = note(scene)
    await scene.daemon.kill()
    await scene.startDaemon()
    await scene.connected()
    await eventually('another client runs', () => note(scene).pid !== first.pid)
    await scene.turnIs('idle')
    await scene.settled([await scene.send('after')])
    expect(note(scene).session_id).toBe(first.session_id)
    expectOneBellPerTurn(scene.model, ['before', 'after'])
  })

  test('goes with its daemon', async () => {
    const scene = await open()
    await scene.turnIs('idle')
    const { pid } = note(scene)
    await scene.daemon.kill('SIGTERM')
    expect(() => process.kill(pid, 0)).toThrow()
  })

  test.each([
    ['reject', false],
    ['allow', true],
  ] as const)('with permissions %s may use a tool that asks: %s', async (permissions, may) => {
    const scene = await open({ persona: { permissions } })
    await scene.turnIs('idle')
    const file = path.join(scene.project, 'asked-for')
    scene.model.next(/make a file/, { tools: [TOOLS.shell(`touch ${file}`)] })
    await scene.settled([await scene.send('make a file')])
    expect(fs.existsSync(file)).toBe(may)
    // What is refused ends no session, and turnbell's own tools were allowed either way.
    await scene.settled([await scene.send('one more')])
    const turns = turnsOf(scene.model)
    expect(turns.flatMap(({ drained }) => drained)).toEqual(['make a file', 'one more'])
  })

  test('without an inbox is rung as its user would speak to it', async () => {
    const scene = await open({ env: inboxIs(null) })
    await scene.turnIs('idle')
    await scene.settled([await scene.send('one')])
    await scene.settled([await scene.send('two')])
    expectOneBellPerTurn(scene.model, ['one', 'two'])
    const shown = scene.model.shown.map(({ fresh }) => fresh).join('\n')
    expect(shown).not.toContain('Another Claude session')
    expect(scene.workerLog().map(({ msg }) => msg)).toContain('nobody is there; bells go by the pipe')
    // Where the person looks who looks after the daemon.
    expect(scene.log<{ msg: string }>('ada.log').map(({ msg }) => msg)).toContain(
      'nobody is there; bells go by the pipe',
    )
  })
})
