import fs from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import { claudeArguments, codexArguments } from '../../../src/cli/client-arguments.ts'
import { runNotes } from '../../../src/cli/run-notes.ts'
import { TurnbellError } from '../../../src/contracts/errors/errors.ts'
import { personaPaths, prepareHome, resolveHome } from '../../../src/system/config/home.ts'
import { daemonStatus, fakeDaemon } from '../../support/fakes/fake-daemon.ts'
import { temporaryDirectory } from '../../support/temporary-directory.ts'
import { testCli } from '../../support/processes/test-cli.ts'

test('Codex joins the app-server of the persona in the working directory', () => {
  expect(codexArguments('/run/codex.sock', '/work', ['resume', 't-1'])).toEqual([
    ...['--remote', 'unix:///run/codex.sock', '-C', '/work', 'resume', 't-1'],
  ])
  for (const chosen of [['-C', '/other'], ['--cd', '/other'], ['--cd=/other']])
    expect(codexArguments('/run/codex.sock', '/work', chosen)).not.toContain('/work')
})

test('Codex resumes the thread of the daemon unless the arguments choose one', () => {
  const words = (...args: string[]) => codexArguments('/run/codex.sock', '/work', args, 't-kept').slice(4)
  expect(words('-m', 'x', 'go on')).toEqual(['resume', 't-kept', '-m', 'x', 'go on'])
  for (const chosen of [
    ['resume', 't-1'],
    ['fork', '--last'],
  ])
    expect(words(...chosen)).toEqual(chosen)
  expect(codexArguments('/run/codex.sock', '/work', ['-C', '/other'], 't-kept')).not.toContain('resume')
  expect(codexArguments('/run/codex.sock', '/work', ['-C', '/other'], 't-kept')).not.toContain('resume')
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

test('run does not add an unknown persona', async () => {
  const home = temporaryDirectory()
  const claude = path.join(home, 'claude')
  fs.writeFileSync(claude, '#!/bin/sh\n', { mode: 0o755 })
  const turnbell = testCli({
    home,
    env: { PATH: home },
    hub: {
      '/ready': () => ({ ready: true }),
      'personas.get': () => {
        throw new TurnbellError('target_unknown', { detail: 'nobody' })
      },
    },
  })
  expect(await turnbell.run('run', '--persona', 'adaa')).toBe(2)
  expect(turnbell.stderr()).toContain('turnbell persona add adaa')
  expect(turnbell.hubCalls.map(({ what }) => what)).not.toContain('personas.add')
})

test('run refuses an agent that its daemon runs', async () => {
  const home = temporaryDirectory()
  const turnbell = testCli({ home })
  await turnbell.run('persona', 'add', 'eve', '--surface', 'codex', '--acp', 'codex-acp')
  expect(await turnbell.run('run', '--persona', 'eve')).toBe(64)
  expect(turnbell.stderr()).toMatch(/is headless/)
  expect(turnbell.stderr()).toMatch(/turnbell daemon --persona eve/)
})

test('run refuses a headless Claude Code', async () => {
  const home = temporaryDirectory()
  fs.writeFileSync(
    path.join(home, 'config.yaml'),
    `personas: {hal: {surface: claude-code, headless: true, project: ${home}}}\n`,
  )
  const turnbell = testCli({ home })
  expect(await turnbell.run('run', '--persona', 'hal')).toBe(64)
  expect(turnbell.stderr()).toMatch(/is headless/)
  expect(turnbell.stderr()).toMatch(/turnbell daemon --persona hal/)
})

test.each([
  ['kill -ABRT $$', 134],
  ['kill -SEGV $$', 139],
  ['kill -QUIT $$', 131],
  ['kill -TERM $$', 143],
  ['exit 7', 7],
])('run exits with the exit code of the client: %s', async (script, code) => {
  const home = temporaryDirectory()
  fs.writeFileSync(path.join(home, 'claude'), `#!/bin/sh\nulimit -c 0\n${script}\n`, { mode: 0o755 })
  const at = resolveHome({}, home)
  prepareHome(at)
  await fakeDaemon(personaPaths(at, 'local', 'ada', {}), () => daemonStatus('ada'))
  const persona = { tenant_id: 'local', identity: 'ada', state: 'active', surface: 'claude-code' }
  const dates = { created_at: '2026-01-01T00:00:00.000Z', updated_at: '2026-01-01T00:00:00.000Z' }
  const turnbell = testCli({
    home,
    env: { PATH: `${home}:/bin:/usr/bin` },
    hub: { '/ready': () => ({ ready: true }), 'personas.get': () => ({ ...persona, ...dates }) },
  })
  expect(await turnbell.run('run', '--persona', 'ada')).toBe(code)
})

test('run prints a note for a session outside the project and for a second session', async () => {
  const home = temporaryDirectory()
  const project = temporaryDirectory()
  fs.writeFileSync(
    path.join(home, 'config.yaml'),
    JSON.stringify({ personas: { ada: { surface: 'claude-code', project } } }),
  )
  const notesIn = (cwd: string, attached: boolean) => {
    const invocation = {
      cli: { cwd },
      config: () => ({ personas: { ada: { surface: 'claude-code', project } } }),
      paths: () => ({ run_dir: home }),
      control: () => ({ status: async () => ({ surface: { attached } }) }),
    }
    return runNotes(invocation as never, 'ada', 'claude-code')
  }
  fs.mkdirSync(path.join(project, 'src'))
  expect(await notesIn(path.join(project, 'src'), false)).toEqual([])
  expect(await notesIn(home, false)).toEqual([expect.stringContaining(project)])
  expect(await notesIn(project, true)).toEqual([expect.stringContaining('Another session of ada is open')])
})

test('connect refuses a name that is similar to a persona and accepts a new one', async () => {
  const home = temporaryDirectory()
  const project = temporaryDirectory()
  fs.writeFileSync(
    path.join(home, 'config.yaml'),
    JSON.stringify({ personas: { ada: { surface: 'claude-code' } } }),
  )
  const turnbell = testCli({ home })
  const connect = (persona: string) =>
    turnbell.run('connect', 'claude-code', '--persona', persona, '--project', project, '--print')
  expect(await connect('adda')).toBe(2)
  expect(turnbell.stderr()).toContain('did you mean ada?')
  expect(await connect('zoe')).toBe(0)
})
