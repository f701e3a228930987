/** Tests the output of commands for an unknown persona. */
import fs from 'node:fs'
import path from 'node:path'
import { describe, expect, test } from 'vitest'
import { TurnbellError, type Problem } from '../../../src/contracts/errors/errors.ts'
import { testCli, type FakeHub } from '../../support/processes/test-cli.ts'
import { temporaryDirectory } from '../../support/temporary-directory.ts'

/** A home that knows ada. */
function cli(hub?: FakeHub) {
  const home = temporaryDirectory()
  fs.writeFileSync(path.join(home, 'config.yaml'), 'personas: {ada: {surface: mcp}}')
  return testCli({ home, ...(hub === undefined ? {} : { hub }) })
}

describe('a daemon without an answer', () => {
  test.each(['status', 'shutdown', 'notify', 'resume'])(
    '%s suggests a similar name for an unknown persona',
    async (verb) => {
      const turnbell = cli()
      expect(await turnbell.run(verb, '--persona', 'adda', '--json')).toBe(69)
      const { code, detail, hint } = turnbell.json<Problem>()
      expect([code, detail]).toEqual(['daemon_unreachable', expect.stringContaining('did you mean ada?')])
      expect(hint).not.toContain('turnbell daemon')
    },
  )

  test('the daemon of a persona that only the hub knows can be started', async () => {
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

  test.each([[[]], [['--follow']]])('log of an unknown persona is refused: %j', async (more) => {
    const turnbell = cli(hub)
    expect(await turnbell.run('log', '--persona', 'adda', ...more, '--json')).toBe(2)
    expect(turnbell.json<Problem>()).toMatchObject({ code: 'target_unknown', detail: 'did you mean ada?' })
  })

  test.each(['ada', 'operator'])('log of %s without signals is empty', async (who) => {
    const turnbell = cli(hub)
    expect(await turnbell.run('log', '--persona', who, '--json')).toBe(0)
    expect(turnbell.json()).toEqual({ signals: [] })
  })
})

describe('an unknown name that may be intended', () => {
  const token = ['token', 'create', '--kind']

  test.each<[string, string[], string]>([
    ['token', [...token, 'agent', '--persona', 'adda'], 'did you mean ada?'],
    ['token', [...token, 'daemon', '--persona', 'zoe'], 'no persona zoe yet'],
    ['connect', ['connect', 'codex', '--persona', 'zoe'], 'no persona zoe yet'],
    ['connect --print', ['connect', 'codex', '--print', '--persona', 'zoe'], 'no persona zoe yet'],
  ])('%s prints a note for an unknown name and continues', async (_, words, note) => {
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
  ])('a known or optional name prints no note: %s', async (...words) => {
    const turnbell = cli()
    expect(await turnbell.run(...words)).toBe(0)
    expect(turnbell.stderr()).toBe('')
  })
})
