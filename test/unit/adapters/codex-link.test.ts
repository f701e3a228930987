import { beforeEach, expect, test } from 'vitest'
import type { AppServer } from '../../../adapters/codex/app-server.ts'
import { lastingLink, type Link } from '../../../adapters/codex/link.ts'
import { LIMITS } from '../../../src/contracts/limits.ts'
import { silentLog } from '../../../src/ports/log.ts'
import { atRest, fakeClock, type FakeClock } from '../../support/fake-clock.ts'

let clock: FakeClock
let link: Link
let dials: number
let listens: boolean
let connected: number
let lose: () => void
/** What happens between the dial and its answer. */
let meanwhile: () => void
let warned: string[]

beforeEach(() => {
  clock = fakeClock()
  dials = 0
  connected = 0
  listens = false
  meanwhile = () => {}
  warned = []
  const server: AppServer = { user_agent: '', call: () => Promise.reject(new Error('unused')), close() {} }
  link = lastingLink({
    async dial(onClose) {
      dials += 1
      lose = onClose
      await Promise.resolve()
      meanwhile()
      if (!listens) throw new Error('nobody listens')
      return server
    },
    onConnected: () => (connected += 1),
    onClosed: () => (connected -= 1),
    clock,
    log: { ...silentLog, warn: (fields) => void warned.push((fields as { err: Error }).err.message) },
  })
})

test('one that is asked for once is not tried again by itself', async () => {
  await link.once()
  await clock.advance(60_000)
  expect(dials).toBe(1)
  listens = true
  await link.once()
  await link.once()
  expect([dials, connected]).toEqual([2, 1])
})

test('one that lasts is tried until somebody listens, ever more slowly, and again when it is lost', async () => {
  link.forever()
  await clock.advance(60_000)
  const tries = dials
  expect(tries).toBeLessThan(60_000 / LIMITS.shim_reconnect_max_ms + 10)
  listens = true
  await clock.advance(LIMITS.shim_reconnect_max_ms)
  expect(connected).toBe(1)
  lose()
  expect(connected).toBe(0)
  await clock.advance(LIMITS.codex_dial_ms)
  expect(connected).toBe(1)
})

test('one that is closed is tried no more', async () => {
  link.forever()
  await atRest()
  link.close()
  await clock.advance(60_000)
  expect(dials).toBe(1)
})

test('one whose dial fails while its socket closes is tried again', async () => {
  meanwhile = () => lose()
  link.forever()
  await atRest()
  lose()
  listens = true
  meanwhile = () => {}
  await clock.advance(LIMITS.codex_dial_ms)
  expect([dials, connected]).toEqual([2, 1])
})

test('one that went away before it was known to be there is no connection', async () => {
  listens = true
  meanwhile = () => lose()
  link.forever()
  await atRest()
  expect([dials, connected]).toEqual([1, 0])
  meanwhile = () => {}
  await clock.advance(LIMITS.codex_dial_ms)
  expect([dials, connected]).toEqual([2, 1])
})

test('asking for one that lasts dials at once, and leaves one further try behind', async () => {
  link.forever()
  await atRest()
  for (let asked = 0; asked < 20; asked++) await link.once()
  expect(dials).toBe(21)
  expect(clock.armed()).toBe(1)
  await clock.advance(60_000)
  expect(dials).toBeLessThan(21 + 60_000 / LIMITS.shim_reconnect_max_ms + 10)
  link.close()
  expect(clock.armed()).toBe(0)
})

test('why nothing comes of one that lasts is said once for each reason', async () => {
  link.forever()
  await atRest()
  // At first nobody listens yet, as ever when an app-server starts.
  expect(warned).toEqual([])
  await clock.advance(60_000)
  expect(warned).toEqual(['nobody listens'])
  meanwhile = () => {
    throw new Error('no thread')
  }
  await clock.advance(60_000)
  meanwhile = () => {}
  await clock.advance(60_000)
  expect(warned).toEqual(['nobody listens', 'no thread'])
})

test('one that is only asked for may be missing without a word', async () => {
  for (let asked = 0; asked < 20; asked++) await link.once()
  expect(warned).toEqual([])
})
