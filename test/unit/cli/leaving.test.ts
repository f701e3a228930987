import fs from 'node:fs'
import path from 'node:path'
import { PassThrough } from 'node:stream'
import { beforeEach, describe, expect, test } from 'vitest'
import type { Cli } from '../../../src/cli/cli.ts'
import type { Problem } from '../../../src/contracts/errors/errors.ts'
import { temporaryDirectory } from '../../support/temporary-directory.ts'
import { testCli, type FakeHub } from '../../support/processes/test-cli.ts'

const TIMES = { created_at: '2026-01-01T00:00:00.000Z', updated_at: '2026-01-01T00:00:00.000Z' }

let home: string
let project: string
beforeEach(() => {
  home = fs.realpathSync(temporaryDirectory())
  project = path.join(home, 'shop')
  fs.mkdirSync(project)
  const ada = `{ surface: codex, project: ${JSON.stringify(project)} }`
  fs.writeFileSync(path.join(home, 'config.yaml'), `personas: { ada: ${ada} }`)
})

const hubWith = (pending_count: number): FakeHub => {
  const ada = {
    identity: 'ada',
    surface: 'codex',
    state: 'active',
    ...TIMES,
    pending_count,
    registrations: [],
  }
  return {
    'personas.list': () => ({ personas: [ada] }),
    'personas.remove': () => ({ identity: 'ada', surface: 'codex', state: 'removed', ...TIMES }),
    'projects.remove': () => ({ removed: ['ada'] }),
  }
}

/** A terminal that gives this answer. */
function answering(answer: string): Partial<Cli> {
  const terminal = () => Object.assign(new PassThrough(), { isTTY: true })
  const stdin = terminal()
  stdin.end(`${answer}\n`)
  return { stdin, stderr: terminal() }
}

describe('persona remove', () => {
  test.each([
    ['ada', ['ada']],
    ['a project', ['--project', 'shop']],
  ])('persona remove of %s is refused with its pending signals and connection', async (_, words) => {
    const turnbell = testCli({ home, hub: hubWith(3) })
    await turnbell.run('connect', 'codex', '--persona', 'ada', '--project', project)
    expect(await turnbell.run('persona', 'remove', ...words, '--json')).toBe(2)
    const { code, detail, hint } = turnbell.json<Problem>()
    expect(code).toBe('removal_unforced')
    expect(detail).toContain('3 signals for ada')
    expect(detail).toContain(`turnbell disconnect codex --project ${project}`)
    expect(hint).toContain('--force')
    expect(turnbell.hubCalls.some(({ what }) => what.endsWith('.remove'))).toBe(false)
    expect(fs.readFileSync(path.join(home, 'config.yaml'), 'utf8')).toContain('ada')

    expect(await turnbell.run('persona', 'remove', ...words, '--force')).toBe(0)
    expect(turnbell.stderr()).toContain('3 signals for ada')
  })

  test.each([
    ['y', 0],
    ['no', 2],
  ])('persona remove asks at a terminal and obeys the answer: %s', async (answer, exit) => {
    const turnbell = testCli({ home, hub: hubWith(1), overrides: answering(answer) })
    expect(await turnbell.run('persona', 'remove', 'ada')).toBe(exit)
    expect(turnbell.hubCalls.some(({ what }) => what === 'personas.remove')).toBe(exit === 0)
  })

  test('persona remove does not ask without consequences', async () => {
    const turnbell = testCli({ home, hub: hubWith(0) })
    expect(await turnbell.run('persona', 'remove', 'ada', '--json')).toBe(0)
  })
})
