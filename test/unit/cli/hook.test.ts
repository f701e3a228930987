import fs from 'node:fs'
import path from 'node:path'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { hookPersona } from '../../../src/cli/hooks/hook-call.ts'
import { runHook } from '../../../src/cli/hooks/main.ts'
import { OWN_SERVER_PERSONA } from '../../../src/contracts/clients/codex.ts'
import { personaPaths, prepareHome, resolveHome } from '../../../src/system/config/home.ts'
import { fakeClock } from '../../support/fakes/fake-clock.ts'
import { testCli } from '../../support/processes/test-cli.ts'
import { temporaryDirectory } from '../../support/temporary-directory.ts'

test('a hook reports for the persona of its option, else for that of its environment', () => {
  expect(hookPersona('ada', { TURNBELL_PERSONA: 'bob' })).toBe('ada')
  expect(hookPersona(undefined, { TURNBELL_PERSONA: 'bob' })).toBe('bob')
  expect(hookPersona(undefined, {})).toBeNull()
  expect(hookPersona('No Name', {})).toBeNull()
})

test("a hook of the project's persona does not report a thread of another persona", () => {
  expect(hookPersona('bob', { [OWN_SERVER_PERSONA]: 'ada' })).toBeNull()
  expect(hookPersona('ada', { [OWN_SERVER_PERSONA]: 'ada' })).toBe('ada')
  // The value in an agent's own commands and their children.
  expect(hookPersona('bob', { [OWN_SERVER_PERSONA]: '' })).toBe('bob')
})

describe('a hook of Codex', () => {
  const STOP = { hook_event_name: 'Stop', session_id: '0199a213-81c0-7800-8aa1-bbab2a035a53', cwd: '/work' }

  /** Runs the hook in a home where `obstruct` prevents it from reporting to the shim. */
  async function report(obstruct: (root: string) => void) {
    const root = temporaryDirectory()
    const home = resolveHome({}, root)
    prepareHome(home)
    obstruct(root)
    const exit = vi.spyOn(process, 'exit')
    onTestFinished(() => exit.mockRestore())
    const exited = new Promise<void>((resolve) => {
      exit.mockImplementation(() => resolve() as never)
    })
    const received: object[] = []
    const hub = {
      '/auth/token': () => ({ token: 't', expires_in: 3600 }),
      '/hook/codex': (body: object) => {
        received.push(body)
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
    return {
      received,
      spooled: fs.existsSync(spool) ? fs.readFileSync(spool, 'utf8').trim().split('\n') : [],
    }
  }

  test('a hook of Codex is spooled if the configuration is invalid', async () => {
    const { received, spooled } = await report((root) =>
      fs.writeFileSync(path.join(root, 'config.yaml'), 'hubb: {}\n'),
    )
    expect(received).toEqual([])
    expect(spooled.map((line) => JSON.parse(line) as object)).toMatchObject([
      { type: 'hook', client: 'codex', identity: 'ada', body: STOP },
    ])
  })

  test('a hook of Codex reaches the hub if the folder of its persona is not usable', async () => {
    const { received, spooled } = await report((root) => {
      const { run_dir } = personaPaths(resolveHome({}, root), 'local', 'ada', {})
      fs.mkdirSync(run_dir, { recursive: true })
      fs.chmodSync(run_dir, 0o755)
    })
    expect(received).toEqual([STOP])
    expect(spooled).toEqual([])
  })
})

describe('the program of the hook', () => {
  test('the hook program accepts the options of the command line', async () => {
    const home = temporaryDirectory()
    const { cli } = testCli({ home, overrides: { cwd: temporaryDirectory() } })
    expect(await runHook(cli, ['post-commit', '--home', home])).toBe(0)
  })

  test.each([
    [[], 'missing required argument'],
    [['Stop', 'Stop'], 'too many arguments'],
    [['Stop', '--unknown'], 'unknown option'],
  ])('the hook program refuses the arguments %j with a usage error', async (argv, detail) => {
    const turnbell = testCli({ home: temporaryDirectory() })
    expect(await runHook(turnbell.cli, argv)).toBe(64)
    expect(turnbell.stderr().toLowerCase()).toContain(detail)
  })
})
