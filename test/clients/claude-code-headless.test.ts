/** A headless Claude Code, kept by its persona's daemon; all input arrives as signals. */
import fs from 'node:fs'
import path from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import {
  claudeProgram,
  inboxIs,
  openClaudeWorld,
  type ClaudeOptions,
} from '../support/clients/claude-world.ts'
import { expectOneBellPerTurn, turnsOf } from '../support/clients/conversation.ts'
import { eventually } from '../support/eventually.ts'
import { scenesOf } from '../support/clients/scene.ts'
import { describeClient } from '../suites/client.suite.ts'

beforeAll(() => void claudeProgram())

const TOOLS = {
  drain: 'mcp__plugin_turnbell_hub__signals_pending',
  shell: (command: string) => ({ name: 'Bash', input: { command, description: 'wait for the scene' } }),
}
const openWorld = scenesOf(TOOLS, openClaudeWorld)

/** Relative to the home, as in the configuration. */
const KEPT = { surface: 'claude-code', headless: true, project: '../project' } as const
const open = ({ persona, ...options }: ClaudeOptions = {}) =>
  openWorld({ persona: { ...KEPT, ...persona }, ...options })

type Scene = Awaited<ReturnType<typeof open>>

/** The client's process, from the keeper's note. */
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
  test('a killed Claude Code is restarted and resumes its session', async () => {
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

  test('Claude Code runs once after its daemon was killed and restarted', async () => {
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

  test('Claude Code exits with its daemon', async () => {
    const scene = await open()
    await scene.turnIs('idle')
    const { pid } = note(scene)
    await scene.daemon.kill('SIGTERM')
    expect(() => process.kill(pid, 0)).toThrow()
  })

  test.each([
    ['reject', false],
    ['allow', true],
  ] as const)(
    'Claude Code with permissions %s may use a tool that requires permission: %s',
    async (permissions, may) => {
      const scene = await open({ persona: { permissions } })
      await scene.turnIs('idle')
      const file = path.join(scene.project, 'asked-for')
      scene.model.next(/make a file/, { tools: [TOOLS.shell(`touch ${file}`)] })
      await scene.settled([await scene.send('make a file')])
      expect(fs.existsSync(file)).toBe(may)
      // A rejection ends no session, and turnbell's own tools are allowed in both cases.
      await scene.settled([await scene.send('one more')])
      const turns = turnsOf(scene.model)
      expect(turns.flatMap(({ drained }) => drained)).toEqual(['make a file', 'one more'])
    },
  )

  test('Claude Code without an inbox is rung by a prompt of its user', async () => {
    const scene = await open({ env: inboxIs(null) })
    await scene.turnIs('idle')
    await scene.settled([await scene.send('one')])
    await scene.settled([await scene.send('two')])
    expectOneBellPerTurn(scene.model, ['one', 'two'])
    const shown = scene.model.shown.map(({ fresh }) => fresh).join('\n')
    expect(shown).not.toContain('Another Claude session')
    const warning = expect.objectContaining({ path: 'inbox', next: 'pipe' }) as object
    expect(scene.workerLog()).toContainEqual(warning)
    // The daemon's log has the warning, too, for its operator.
    expect(scene.log('ada.log')).toContainEqual(warning)
  })
})
