/** What a client's status line says of its persona, and that it never keeps the client waiting. */
import { expect, test } from 'vitest'
import { sessionStatusLine, statusLine } from '../../../src/cli/status-line.ts'
import { LIMITS } from '../../../src/contracts/limits.ts'
import { personaPaths, resolveHome } from '../../../src/system/home.ts'
import { fakeClock } from '../../support/fake-clock.ts'
import { daemonStatus, fakeDaemon } from '../../support/fake-daemon.ts'
import { temporaryDirectory } from '../../support/temporary-directory.ts'
import { testCli } from '../../support/test-cli.ts'

const line = (persona: string | undefined, pending: () => Promise<number>) =>
  statusLine(persona, { clock: fakeClock(), pending })

test('tells how much waits for whom', async () => {
  expect(await line('ada', async () => 3)).toBe('ada: 3 waiting')
})

const silent: [string, string | undefined, () => Promise<number>][] = [
  ['nothing waits', 'ada', async () => 0],
  ['no daemon answers', 'ada', () => Promise.reject(new Error('not there'))],
  ['nobody is named', undefined, async () => 3],
  ['nobody can be called so', 'No Such Name', async () => 3],
]

test.each(silent)('is empty where %s', async (_, persona, pending) => {
  expect(await line(persona, pending)).toBe('')
})

test('is empty where a daemon takes too long', async () => {
  const clock = fakeClock()
  const said = statusLine('ada', { clock, pending: () => new Promise(() => {}) })
  await clock.advance(LIMITS.status_line_ms)
  expect(await said).toBe('')
})

/** A home in which that much waits for a persona. */
async function homeOf(identity: string, pending_count: number): Promise<string> {
  const home = temporaryDirectory()
  const paths = personaPaths(resolveHome({}, home), 'local', identity, {})
  await fakeDaemon(paths, () => daemonStatus(identity, { pending_count }))
  return home
}

test('tells of the persona that the project is connected to, unless the session was started for another', async () => {
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
