import fs from 'node:fs'
import path from 'node:path'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { hookPersona } from '../../../src/cli/hooks/hook-call.ts'
import { OWN_SERVER_PERSONA } from '../../../src/contracts/codex-environment.ts'
import { personaPaths, prepareHome, resolveHome } from '../../../src/system/home.ts'
import { fakeClock } from '../../support/fake-clock.ts'
import { testCli } from '../../support/test-cli.ts'
import { temporaryDirectory } from '../../support/temporary-directory.ts'

test('a hook tells for the persona it names, else for the one its client was started for', () => {
  expect(hookPersona('ada', { TURNBELL_PERSONA: 'bob' })).toBe('ada')
  expect(hookPersona(undefined, { TURNBELL_PERSONA: 'bob' })).toBe('bob')
  expect(hookPersona(undefined, {})).toBeNull()
  expect(hookPersona('No Name', {})).toBeNull()
})

test("a hook of the project's persona tells nothing of a thread that was begun for another", () => {
  expect(hookPersona('bob', { [OWN_SERVER_PERSONA]: 'ada' })).toBeNull()
  expect(hookPersona('ada', { [OWN_SERVER_PERSONA]: 'ada' })).toBe('ada')
  // As an agent's own commands have it, and whatever they start.
  expect(hookPersona('bob', { [OWN_SERVER_PERSONA]: '' })).toBe('bob')
})

describe('what a hook of Codex tells', () => {
  const STOP = { hook_event_name: 'Stop', session_id: '0199a213-81c0-7800-8aa1-bbab2a035a53', cwd: '/work' }

  /** A home where the shim cannot be told, because of what is in the way. */
  async function told(inTheWay: (root: string) => void) {
    const root = temporaryDirectory()
    const home = resolveHome({}, root)
    prepareHome(home)
    inTheWay(root)
    const exit = vi.spyOn(process, 'exit')
    onTestFinished(() => exit.mockRestore())
    const exited = new Promise<void>((resolve) => {
      exit.mockImplementation(() => resolve() as never)
    })
    const heard: object[] = []
    const hub = {
      '/auth/token': () => ({ token: 't', expires_in: 3600 }),
      '/hook/codex': (body: object) => {
        heard.push(body)
        return {}
      },
    }
    const turnbell = testCli({
      home: root,
      hub,
      input: JSON.stringify(STOP),
      overrides: { clock: fakeClock() },
    })
    expect(await turnbell.run('hook', 'Stop', '--client', 'codex', '--persona', 'ada')).toBe(0)
    await exited
    expect(turnbell.stdout()).toBe('{}\n')
    const spool = path.join(home.spool, 'hooks.jsonl')
    return { heard, left: fs.existsSync(spool) ? fs.readFileSync(spool, 'utf8').trim().split('\n') : [] }
  }

  test('is left for the hub where the configuration cannot be read', async () => {
    const { heard, left } = await told((root) =>
      fs.writeFileSync(path.join(root, 'config.yaml'), 'hubb: {}\n'),
    )
    expect(heard).toEqual([])
    expect(left.map((line) => JSON.parse(line) as object)).toMatchObject([
      { type: 'hook', client: 'codex', identity: 'ada', body: STOP },
    ])
  })

  test('reaches the hub where the place of its persona cannot be used', async () => {
    const { heard, left } = await told((root) => {
      const { run_dir } = personaPaths(resolveHome({}, root), 'local', 'ada', {})
      fs.mkdirSync(run_dir, { recursive: true })
      fs.chmodSync(run_dir, 0o755)
    })
    expect(heard).toEqual([STOP])
    expect(left).toEqual([])
  })
})
