/** The real Claude Code checks the plugin without a session, and reads the module's source as it does at a start. */
import { spawnSync } from 'node:child_process'
import path from 'node:path'
import { expect, test } from 'vitest'
import { claudeProgram } from '../support/clients/claude-world.ts'
import { goOffline } from '../support/clients/offline.ts'
import { temporaryHome } from '../support/processes/processes.ts'

const PLUGIN = path.resolve(import.meta.dirname, '../../dist/adapters/claude-code')

interface Report {
  contents: { type: string; errors: unknown[]; modules: { module: string; uses: { events: string[] } }[] }[]
}

test('Claude Code accepts the module of the plugin', async () => {
  const offline = await goOffline()
  try {
    const [program, args] = offline.inside([claudeProgram(), 'plugin', 'validate', '--json', PLUGIN])
    const env = { PATH: process.env['PATH'], HOME: temporaryHome(), DISABLE_AUTOUPDATER: '1' }
    const { status, stdout, stderr } = spawnSync(program, args, { env, encoding: 'utf8' })
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
    const hooks = (JSON.parse(stdout) as Report).contents.find(({ type }) => type === 'hooks')
    expect(hooks?.errors).toEqual([])
    expect(hooks?.modules.map(({ module }) => module)).toEqual(['./mod.js'])
    expect(hooks?.modules[0]?.uses.events.toSorted()).toEqual([
      'agent.report',
      'agent.spawn',
      'prompt.submit',
      'session.compact',
      'session.end',
      'session.measure',
      'session.start',
      'session.stop',
      'tool.call',
      'tool.check',
      'tool.run',
      'turn.complete',
      'turn.start',
      'ui.render',
    ])
  } finally {
    await offline.close()
  }
})
