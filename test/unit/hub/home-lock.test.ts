/** Tests a home whose hub does not respond, because it is still starting or just ending. */
import { afterEach, describe, expect, test, vi } from 'vitest'
import { TurnbellError, type ErrorCode } from '../../../src/contracts/errors/errors.ts'
import { lockHome } from '../../../src/hub/home-lock.ts'
import { silentLog } from '../../../src/ports/log.ts'
import { atRest, fakeClock } from '../../support/fakes/fake-clock.ts'

interface Other {
  pid: number
  url: string
  stands_in?: boolean
}

/** Another hub owns the home and has not published its address unless given here. */
async function scene({
  embedded = false,
  refusal = 'already_running',
  other = null,
}: { embedded?: boolean; refusal?: ErrorCode; other?: Other | null } = {}) {
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
    ...{ clock, log: { ...silentLog, warn: (_, text) => warned.push(text) }, embedded },
    leaving: leaving.signal,
  }).catch((error: unknown) => error)
  await atRest()
  return { at, clock, leaving, outcome, warned }
}

test('a starting hub is waited for, and then named', async () => {
  const { at, clock, outcome, warned } = await scene()
  await clock.advance(1_000)
  expect(at.looks).toBeGreaterThan(2)
  expect(warned).toEqual(['another hub holds this home and has no address file; waiting up to 10 s'])
  at.other = { pid: 4711, url: 'http://127.0.0.1:9' }
  await clock.advance(1_000)
  expect(await outcome).toMatchObject({
    code: 'already_running',
    detail: 'held, and answers at http://127.0.0.1:9',
    hint: expect.stringContaining('kill 4711') as string,
  })
  expect(clock.armed()).toBe(0)
})

test('a stopping hub leaves the home to the next one', async () => {
  const { at, clock, outcome } = await scene()
  await clock.advance(1_000)
  at.held = false
  await clock.advance(1_000)
  expect(await outcome).toBe('taken')
  expect(clock.armed()).toBe(0)
})

test('a hub that does not respond for long is not waited for', async () => {
  const { clock, outcome } = await scene()
  await clock.advance(10_000)
  expect(clock.armed()).toBe(1)
  await clock.advance(1_000)
  expect(await outcome).toMatchObject({ code: 'already_running', detail: 'held' })
  expect(clock.armed()).toBe(0)
})

test('a process that is asked to stop ends its wait', async () => {
  const { at, clock, leaving, outcome } = await scene()
  at.held = false
  leaving.abort()
  expect(await outcome).toBe(leaving.signal.reason)
  expect(clock.armed()).toBe(0)
})

describe('an embedded hub in the home', () => {
  const EMBEDDED = { pid: 4711, url: 'http://127.0.0.1:9', stands_in: true }
  afterEach(() => vi.unstubAllGlobals())

  test("the wait for an embedded hub's answer ends when the waiting process is asked to stop", async () => {
    const asked: AbortSignal[] = []
    vi.stubGlobal('fetch', (_: string, { signal }: { signal: AbortSignal }) => {
      asked.push(signal)
      return new Promise((_resolve, reject) => signal.addEventListener('abort', reject))
    })
    const { at, leaving, outcome } = await scene({ other: EMBEDDED })
    expect(asked).toHaveLength(1)
    at.held = false
    leaving.abort()
    expect(await outcome).toBe(leaving.signal.reason)
    expect(at.looks).toBe(1)
  })

  test("the wait for an embedded hub's end ends when the waiting process is asked to stop", async () => {
    vi.stubGlobal('fetch', () => Promise.resolve(new Response(null, { status: 202 })))
    const { at, clock, leaving, outcome } = await scene({ other: EMBEDDED })
    expect(clock.armed()).toBe(1)
    at.held = false
    leaving.abort()
    expect(await outcome).toBe(leaving.signal.reason)
    expect(clock.armed()).toBe(0)
  })

  test('an embedded hub leaves the home to the requesting hub', async () => {
    vi.stubGlobal('fetch', () => Promise.resolve(new Response(null, { status: 202 })))
    const { at, clock, outcome } = await scene({ other: EMBEDDED })
    at.held = false
    await clock.advance(1_000)
    expect(await outcome).toBe('taken')
  })
})

test('a starting embedded hub does not wait for another hub', async () => {
  const { at, outcome } = await scene({ embedded: true })
  expect(await outcome).toMatchObject({ code: 'already_running' })
  expect(at.looks).toBe(1)
})

test('a disk that rejects locks is not waited for', async () => {
  const { at, outcome } = await scene({ refusal: 'store_unavailable' })
  expect(await outcome).toMatchObject({ code: 'store_unavailable' })
  expect(at.looks).toBe(1)
})
