/** Tests the status line of a client, which must never delay the client. */
import { expect, test } from 'vitest'
import { sessionStatusLine, statusLine } from '../../../src/cli/status-line.ts'
import { LIMITS } from '../../../src/contracts/limits/limits.ts'
import { personaPaths, resolveHome } from '../../../src/system/config/home.ts'
import { fakeClock } from '../../support/fakes/fake-clock.ts'
import { daemonStatus, fakeDaemon } from '../../support/fakes/fake-daemon.ts'
import { temporaryDirectory } from '../../support/temporary-directory.ts'
import { testCli } from '../../support/processes/test-cli.ts'

const line = (persona: string | undefined, pending: () => Promise<number>) =>
  statusLine(persona, { clock: fakeClock(), pending })

test('the status line shows the persona and its pending signals', async () => {
  expect(await line('ada', async () => 3)).toBe('ada: 3 waiting')
})

const silent: [string, string | undefined, () => Promise<number>][] = [
  ['nothing waits', 'ada', async () => 0],
  ['no daemon answers', 'ada', () => Promise.reject(new Error('not there'))],
  ['no persona is named', undefined, async () => 3],
  ['the name is invalid', 'No Such Name', async () => 3],
]

test.each(silent)('the status line is empty if %s', async (_, persona, pending) => {
  expect(await line(persona, pending)).toBe('')
})

test('the status line is empty if the daemon does not answer in time', async () => {
  const clock = fakeClock()
  const said = statusLine('ada', { clock, pending: () => new Promise(() => {}) })
  await clock.advance(LIMITS.status_line_ms)
  expect(await said).toBe('')
})

/** Returns a home in which this many signals wait for a persona. */
async function homeOf(identity: string, pending_count: number): Promise<string> {
  const home = temporaryDirectory()
  const paths = personaPaths(resolveHome({}, home), 'local', identity, {})
  await fakeDaemon(paths, () => daemonStatus(identity, { pending_count }))
  return home
}

test('the status line uses the persona of the session before that of the project', async () => {
  const connected = await homeOf('ada', 3)
  const started = await homeOf('bob', 5)
  const said = (env: Record<string, string>, given = {}) =>
    sessionStatusLine(testCli({ home: started, env, overrides: { clock: fakeClock() } }).cli, given)
  const env = { TURNBELL_CONNECTED_PERSONA: 'ada', TURNBELL_CONNECTED_HOME: connected }
  expect(await said(env)).toBe('ada: 3 waiting')
  expect(await said({ ...env, TURNBELL_HOME: started })).toBe('ada: 3 waiting')
  expect(await said({ ...env, TURNBELL_HOME: started, TURNBELL_PERSONA: 'bob' })).toBe('bob: 5 waiting')
  expect(await said(env, { persona: 'bob', home: started })).toBe('bob: 5 waiting')
})
