/** What commands say of a persona that nobody has made. */
import fs from 'node:fs'
import path from 'node:path'
import { describe, expect, test } from 'vitest'
import { TurnbellError, type Problem } from '../../../src/contracts/errors.ts'
import { testCli, type FakeHub } from '../../support/test-cli.ts'
import { temporaryDirectory } from '../../support/temporary-directory.ts'

/** A home that knows ada. */
function cli(hub?: FakeHub) {
  const home = temporaryDirectory()
  fs.writeFileSync(path.join(home, 'config.yaml'), 'personas: {ada: {surface: mcp}}')
  return testCli({ home, ...(hub === undefined ? {} : { hub }) })
}

describe('a daemon that does not answer', () => {
  test.each(['status', 'shutdown', 'notify', 'resume'])(
    'is told by %s with the near name, and with no way to start it, where the persona does not exist',
    async (verb) => {
      const turnbell = cli()
      expect(await turnbell.run(verb, '--persona', 'adda', '--json')).toBe(69)
      const { code, detail, hint } = turnbell.json<Problem>()
      expect([code, detail]).toEqual(['daemon_unreachable', expect.stringContaining('did you mean ada?')])
      expect(hint).not.toContain('turnbell daemon')
    },
  )

  test('is one to be started where only the hub knows the persona', async () => {
    const persona = { surface: 'mcp', state: 'active', created_at: '2026-01-01T00:00:00.000Z' }
    const bob = { ...persona, identity: 'bob', updated_at: persona.created_at }
    const turnbell = cli({ 'personas.list': () => ({ personas: [bob] }) })
    expect(await turnbell.run('notify', '--persona', 'bob', '--json')).toBe(69)
    expect(turnbell.json<Problem>().hint).toContain('turnbell daemon --persona bob')
  })
})

describe('log', () => {
  const hub: FakeHub = {
    'signals.inbox': () => ({ signals: [], next: null }),
    'personas.get': ({ identity }) => {
      if (identity !== 'ada') throw new TurnbellError('target_unknown', { detail: 'did you mean ada?' })
      return {}
    },
  }

  test.each([[[]], [['--follow']]])('of nobody is refused: %j', async (more) => {
    const turnbell = cli(hub)
    expect(await turnbell.run('log', '--persona', 'adda', ...more, '--json')).toBe(2)
    expect(turnbell.json<Problem>()).toMatchObject({ code: 'target_unknown', detail: 'did you mean ada?' })
  })

  test.each(['ada', 'operator'])('of %s, who has no signals, is empty', async (who) => {
    const turnbell = cli(hub)
    expect(await turnbell.run('log', '--persona', who, '--json')).toBe(0)
    expect(turnbell.json()).toEqual({ signals: [] })
  })
})

describe('a name that may be on purpose', () => {
  const token = ['token', 'create', '--kind']

  test.each<[string, string[], string]>([
    ['token', [...token, 'agent', '--persona', 'adda'], 'did you mean ada?'],
    ['token', [...token, 'daemon', '--persona', 'zoe'], 'no persona zoe yet'],
    ['connect', ['connect', 'codex', '--persona', 'zoe'], 'no persona zoe yet'],
    ['connect --print', ['connect', 'codex', '--print', '--persona', 'zoe'], 'no persona zoe yet'],
  ])('is noted on stderr by %s, and it goes on', async (_, words, note) => {
    const turnbell = cli()
    fs.mkdirSync(path.join(turnbell.cli.cwd, 'project'))
    turnbell.cli.cwd = path.join(turnbell.cli.cwd, 'project')
    expect(await turnbell.run(...words, '--json')).toBe(0)
    expect(turnbell.stderr()).toContain(note)
    expect(turnbell.json()).toBeInstanceOf(Object)
  })

  test.each([
    [...token, 'agent', '--persona', 'ada'],
    [...token, 'observer', '--persona', 'wall'],
  ])('is not noted where it is known, or needs not be: %s', async (...words) => {
    const turnbell = cli()
    expect(await turnbell.run(...words)).toBe(0)
    expect(turnbell.stderr()).toBe('')
  })
})
