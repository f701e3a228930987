import fs from 'node:fs'
import { PassThrough } from 'node:stream'
import { expect, test } from 'vitest'
import { invocationIn, type Cli } from '../../../../src/cli/cli.ts'
import { mayStop, stopRequest } from '../../../../src/cli/up/stop-request.ts'
import type { Json } from '../../../../src/contracts/ids.ts'
import { personaPaths, resolveHome } from '../../../../src/system/config/home.ts'
import { attachedUsers } from '../../../../src/system/clients/attached-users.ts'
import { daemonStatus, fakeDaemon } from '../../../support/fakes/fake-daemon.ts'
import { temporaryDirectory } from '../../../support/temporary-directory.ts'
import { testCli } from '../../../support/processes/test-cli.ts'

const terminal = () => Object.assign(new PassThrough(), { isTTY: true })

/** A home with the personas ada, whose window is open, and bob; a user at a terminal, and Ctrl-C. */
function world() {
  const home = temporaryDirectory()
  const at = resolveHome({}, home)
  fs.writeFileSync(
    at.config,
    JSON.stringify({ personas: { ada: { surface: 'codex' }, bob: { surface: 'claude-code' } } }),
  )
  let press = (): void => {}
  const onTermination: Cli['onTermination'] = (call) => {
    press = () => call('SIGINT')
    return () => {}
  }
  const stdin = terminal()
  const stderr = terminal()
  const { cli } = testCli({ home, overrides: { onTermination, stdin, stderr } })
  const stop = stopRequest(cli)
  const paths = (name: string) => personaPaths(at, 'local', name, {})
  attachedUsers(paths('ada').run_dir, 'codex').attach(process.pid)
  const may = () => mayStop(invocationIn(cli, home), ['ada', 'bob'], stop)
  return { bob: paths('bob'), stdin, stderr, press: () => press(), may }
}

test('a second Ctrl-C stops up while a daemon has not answered yet which windows are open', async () => {
  const { bob, press, may } = world()
  let isAsked = (): void => {}
  const asked = new Promise<void>((resolve) => (isAsked = resolve))
  let answer = (_: Json): void => {}
  await fakeDaemon(bob, () => {
    isAsked()
    return new Promise<Json>((resolve) => (answer = resolve))
  })
  press()
  const stops = may()
  await asked
  press()
  expect(await stops).toBe(true)
  answer(daemonStatus('bob'))
})

test('a second Ctrl-C stops up while the question about open windows waits for its answer', async () => {
  const { stderr, press, may } = world()
  const question = new Promise<void>((resolve) =>
    stderr.on('data', (text: Buffer) => text.includes('Stop?') && resolve()),
  )
  press()
  const stops = may()
  await question
  press()
  expect(await stops).toBe(true)
})

test.each([
  ['y', true],
  ['n', false],
])('the answer %j to the question about open windows decides whether up stops: %s', async (typed, stops) => {
  const { stdin, press, may } = world()
  press()
  stdin.write(`${typed}\n`)
  expect(await may()).toBe(stops)
})
