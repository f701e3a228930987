/** What a client's status line says of its persona, and that it never keeps the client waiting. */
import { expect, test } from 'vitest'
import { statusLine } from '../../../src/cli/status-line.ts'
import { LIMITS } from '../../../src/contracts/limits.ts'
import { fakeClock } from '../../support/fake-clock.ts'

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
