import { expect, test } from 'vitest'
import { claudeArguments, codexArguments } from '../../../src/cli/commands/run.ts'
import { temporaryDirectory } from '../../support/temporary-directory.ts'
import { testCli } from '../../support/test-cli.ts'

test('Codex joins the app-server of the persona, in the directory of the person', () => {
  expect(codexArguments('/run/codex.sock', '/work', ['resume', 't-1'])).toEqual([
    ...['--remote', 'unix:///run/codex.sock', '-C', '/work', 'resume', 't-1'],
  ])
  for (const chosen of [['-C', '/other'], ['--cd', '/other'], ['--cd=/other']])
    expect(codexArguments('/run/codex.sock', '/work', chosen)).not.toContain('/work')
})

test('Claude Code gets the plugin, a session and a name, unless the arguments choose them', () => {
  const usual = claudeArguments('/plugin', 'ada', ['--model', 'x'])
  expect(usual).toEqual([
    ...[
      '--plugin-dir',
      '/plugin',
      '--session-id',
      expect.any(String) as string,
      '--name',
      'ada',
      '--model',
      'x',
    ],
  ])
  expect(claudeArguments('/plugin', 'ada', ['--continue'])).not.toContain('--session-id')
  expect(claudeArguments('/plugin', 'ada', ['-n', 'other'])).not.toContain('--name')
})

test('an agent that its daemon keeps is nothing to run', async () => {
  const home = temporaryDirectory()
  const turnbell = testCli({ home })
  await turnbell.run('persona', 'add', 'eve', '--surface', 'codex', '--acp', 'codex-acp')
  expect(await turnbell.run('run', '--persona', 'eve')).toBe(64)
  expect(turnbell.stderr()).toMatch(/has no window: its daemon keeps it/)
  expect(turnbell.stderr()).toMatch(/turnbell daemon --persona eve/)
})
