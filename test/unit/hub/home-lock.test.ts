/** Who gets a home whose hub says nothing of itself: one that still starts, or that is just ending. */
import fs from 'node:fs'
import { expect, onTestFinished, test } from 'vitest'
import { lockHome } from '../../../src/hub/home-lock.ts'
import { silentLog } from '../../../src/ports/log.ts'
import { lockDirectory } from '../../../src/system/directory-lock.ts'
import { prepareHome, resolveHome } from '../../../src/system/home.ts'
import { eventually } from '../../support/eventually.ts'
import { fakeClock } from '../../support/fake-clock.ts'
import { temporaryDirectory } from '../../support/temporary-directory.ts'

const URL = 'http://127.0.0.1:9'

/** Another hub has the home, and has not said yet where it answers. */
async function scene({ stands_in = false } = {}) {
  const home = resolveHome({ TURNBELL_HOME: temporaryDirectory() })
  prepareHome(home)
  const onLost = () => undefined
  const other = await lockDirectory({ lock: home.hub_lock, what: 'A hub', onLost })
  onTestFinished(() => other.release())
  const clock = fakeClock()
  const asked = lockHome({ home, clock, log: silentLog, stands_in, onLost })
  const outcome = asked.then(
    (lock) => {
      onTestFinished(() => lock.release())
      return 'taken'
    },
    (error: unknown) => error,
  )
  return {
    ...{ clock, other, outcome },
    /** It has looked, and will again. */
    waits: () => eventually('it waits', () => clock.armed() === 1),
    answers: () =>
      fs.writeFileSync(
        home.hub_pid,
        JSON.stringify({ pid: process.pid, url: URL, started_at: '2026-01-01T00:00:00.000Z' }),
      ),
  }
}

const looksAgain = ({ clock }: { clock: ReturnType<typeof fakeClock> }) => clock.advance(clock.nextIn() ?? 0)

test('one that starts is waited for, and then named', async () => {
  const home = await scene()
  await home.waits()
  await looksAgain(home)
  await home.waits()
  home.answers()
  await looksAgain(home)
  expect(await home.outcome).toMatchObject({
    code: 'already_running',
    detail: expect.stringContaining(URL) as string,
    hint: expect.stringContaining(`kill ${process.pid}`) as string,
  })
})

test('one that ends leaves the home to the next', async () => {
  const home = await scene()
  await home.waits()
  await home.other.release()
  await looksAgain(home)
  expect(await home.outcome).toBe('taken')
})

test('one that says nothing for long is not waited for', async () => {
  const home = await scene()
  await home.waits()
  await home.clock.advance(10_000)
  await home.waits()
  await looksAgain(home)
  expect(await home.outcome).toMatchObject({ code: 'already_running' })
  expect(home.clock.armed()).toBe(0)
})

test('who only stands in waits for nobody', async () => {
  const home = await scene({ stands_in: true })
  expect(await home.outcome).toMatchObject({ code: 'already_running' })
  expect(home.clock.armed()).toBe(0)
})
