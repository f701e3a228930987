import { expect, test } from 'vitest'
import { continuesSession, opencodeArguments, opencodeDirectory } from '../../../src/cli/commands/run.ts'

const SERVER = 'http://127.0.0.1:4096'

test.each([
  [[], ['--dir', '/here', '--session', 'ses_1']],
  [['--mini'], ['--dir', '/here', '--session', 'ses_1', '--mini']],
  [
    ['--dir', 'there', '--mini'],
    ['--dir', '/here/there', '--session', 'ses_1', '--mini'],
  ],
  [['--dir=/there'], ['--dir', '/there', '--session', 'ses_1']],
])('opencode with %j is joined to its server in a session of its own', (args, words) => {
  const directory = opencodeDirectory('/here', args)
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
])('%j goes on with another session: %j', (args, continues) => {
  expect(continuesSession(args)).toBe(continues)
})
