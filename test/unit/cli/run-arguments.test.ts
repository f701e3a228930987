import { describe, expect, test } from 'vitest'
import {
  continuesSession,
  namedSession,
  opencodeArguments,
  opencodeTarget,
} from '../../../src/cli/client-arguments.ts'

const SERVER = 'http://127.0.0.1:4096'

test.each([
  [[], ['--dir', '/here', '--session', 'ses_1']],
  [['--mini'], ['--dir', '/here', '--session', 'ses_1', '--mini']],
  [
    ['--dir', 'there', '--mini'],
    ['--dir', '/here/there', '--session', 'ses_1', '--mini'],
  ],
  [['--dir=/there'], ['--dir', '/there', '--session', 'ses_1']],
])('opencode with %j is attached to its server in a new session', (args, words) => {
  const { directory } = opencodeTarget(args, { cwd: '/here', headless: null, kept: null })
  expect(opencodeArguments(SERVER, { directory, args, session: 'ses_1' })).toEqual([
    'attach',
    SERVER,
    ...words,
  ])
})

test.each([
  [[], false],
  [['--mini'], false],
  [['-s', 'ses_2'], true],
  [['--session=ses_2'], true],
  [['--continue'], true],
  [['-c', '--fork'], true],
])('the arguments %j continue a session: %j', (args, continues) => {
  expect(continuesSession(args)).toBe(continues)
})

test.each([
  [['--session', 'ses_2'], 'ses_2'],
  [['--mini', '-s', 'ses_2'], 'ses_2'],
  [['-s=ses_2'], 'ses_2'],
  [['--session=ses_2', '--mini'], 'ses_2'],
  [['--session', 'ses_2', '--fork'], null],
  [['--session'], null],
  [['--session='], null],
  [['--continue'], null],
  [[], null],
])('the arguments %j name the session %j', (args, session) => {
  expect(namedSession(args)).toBe(session)
})

describe('a headless agent', () => {
  const kept = { session_id: 'ses_kept', directory: '/project' }
  const target = (...args: string[]) => opencodeTarget(args, { cwd: '/here', headless: '/project', kept })

  test('a client joins a headless agent in its session and directory', () =>
    expect(target('--mini')).toEqual(kept))

  test('a client with another session or directory does not join a headless agent', () => {
    expect(target('--session', 'ses_2')).toEqual({ directory: '/project', session_id: null })
    expect(target('-c', '--dir', 'there')).toEqual({ directory: '/here/there', session_id: null })
    expect(target('--dir=there')).toEqual({ directory: '/here/there' })
  })

  test('a client begins a session in the directory of a headless agent without one', () => {
    expect(opencodeTarget([], { cwd: '/here', headless: '/project', kept: null })).toEqual({
      directory: '/project',
    })
  })
})
