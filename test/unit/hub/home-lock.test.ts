/** Who gets a home whose hub says nothing of itself: one that still starts, or that is just ending. */
import { afterEach, describe, expect, test, vi } from 'vitest'
import { TurnbellError, type ErrorCode } from '../../../src/contracts/errors.ts'
import { lockHome } from '../../../src/hub/home-lock.ts'
import { silentLog } from '../../../src/ports/log.ts'
import { atRest, fakeClock } from '../../support/fake-clock.ts'

interface Other {
  pid: number
  url: string
  stands_in?: boolean
}

/** Another hub has the home, and has not said where it answers, unless that is said here. */
async function scene({
  stands_in = false,
  refusal = 'already_running',
  other = null,
}: { stands_in?: boolean; refusal?: ErrorCode; other?: Other | null } = {}) {
  const clock = fakeClock()
  const at = { held: true, other, looks: 0 }
  const leaving = new AbortController()
  const warned: string[] = []
  const outcome = lockHome({
    async take() {
      at.looks += 1
      if (at.held) throw new TurnbellError(refusal, { detail: 'held' })
      return 'taken'
    },
    other: () => at.other,
    operatorToken: () => 'secret',
    ...{ clock, log: { ...silentLog, warn: (_, text) => warned.push(text) }, stands_in },
    leaving: leaving.signal,
  }).catch((error: unknown) => error)
  await atRest()
  return { at, clock, leaving, outcome, warned }
}

test('one that starts is waited for, and then named', async () => {
  const { at, clock, outcome, warned } = await scene()
  await clock.advance(1_000)
  expect(at.looks).toBeGreaterThan(2)
  expect(warned).toEqual([
    'another hub has this home, and says nowhere that it answers; it is waited for, ten seconds at most',
  ])
  at.other = { pid: 4711, url: 'http://127.0.0.1:9' }
  await clock.advance(1_000)
  expect(await outcome).toMatchObject({
    code: 'already_running',
    detail: 'held, and answers at http://127.0.0.1:9',
    hint: expect.stringContaining('kill 4711') as string,
  })
  expect(clock.armed()).toBe(0)
})

test('one that ends leaves the home to the next', async () => {
  const { at, clock, outcome } = await scene()
  await clock.advance(1_000)
  at.held = false
  await clock.advance(1_000)
  expect(await outcome).toBe('taken')
  expect(clock.armed()).toBe(0)
})

test('one that says nothing for long is not waited for', async () => {
  const { clock, outcome } = await scene()
  await clock.advance(10_000)
  expect(clock.armed()).toBe(1)
  await clock.advance(1_000)
  expect(await outcome).toMatchObject({ code: 'already_running', detail: 'held' })
  expect(clock.armed()).toBe(0)
})

test('who is to leave waits no longer', async () => {
  const { at, clock, leaving, outcome } = await scene()
  at.held = false
  leaving.abort()
  expect(await outcome).toBe(leaving.signal.reason)
  expect(clock.armed()).toBe(0)
})

describe('a hub that stands in', () => {
  const STANDS_IN = { pid: 4711, url: 'http://127.0.0.1:9', stands_in: true }
  afterEach(() => vi.unstubAllGlobals())

  test('is waited for no longer by who is to leave while it is asked', async () => {
    const asked: AbortSignal[] = []
    vi.stubGlobal('fetch', (_: string, { signal }: { signal: AbortSignal }) => {
      asked.push(signal)
      return new Promise((_resolve, reject) => signal.addEventListener('abort', reject))
    })
    const { at, leaving, outcome } = await scene({ other: STANDS_IN })
    expect(asked).toHaveLength(1)
    at.held = false
    leaving.abort()
    expect(await outcome).toBe(leaving.signal.reason)
    expect(at.looks).toBe(1)
  })

  test('is waited for no longer by who is to leave while it ends', async () => {
    vi.stubGlobal('fetch', () => Promise.resolve(new Response(null, { status: 202 })))
    const { at, clock, leaving, outcome } = await scene({ other: STANDS_IN })
    expect(clock.armed()).toBe(1)
    at.held = false
    leaving.abort()
    expect(await outcome).toBe(leaving.signal.reason)
    expect(clock.armed()).toBe(0)
  })

  test('leaves the home to who asked', async () => {
    vi.stubGlobal('fetch', () => Promise.resolve(new Response(null, { status: 202 })))
    const { at, clock, outcome } = await scene({ other: STANDS_IN })
    at.held = false
    await clock.advance(1_000)
    expect(await outcome).toBe('taken')
  })
})

test('who only stands in waits for nobody', async () => {
  const { at, outcome } = await scene({ stands_in: true })
  expect(await outcome).toMatchObject({ code: 'already_running' })
  expect(at.looks).toBe(1)
})

test('a disk that takes no lock is not waited for', async () => {
  const { at, outcome } = await scene({ refusal: 'store_unavailable' })
  expect(await outcome).toMatchObject({ code: 'store_unavailable' })
  expect(at.looks).toBe(1)
})
