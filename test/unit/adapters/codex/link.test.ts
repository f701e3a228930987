import { beforeEach, expect, test } from 'vitest'
import type { AppServer } from '../../../../adapters/codex/app-server.ts'
import { createLink, type Link } from '../../../../adapters/codex/link.ts'
import { LIMITS } from '../../../../src/contracts/limits/limits.ts'
import { silentLog } from '../../../../src/ports/log.ts'
import { atRest, fakeClock, type FakeClock } from '../../../support/fakes/fake-clock.ts'

let clock: FakeClock
let link: Link
let dials: number
let listens: boolean
let connected: number
let lose: () => void
/** Runs between the dial and its answer. */
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
  link = createLink({
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

test('a link that is dialled once does not redial by itself', async () => {
  await link.connectOnce()
  await clock.advance(60_000)
  expect(dials).toBe(1)
  listens = true
  await link.connectOnce()
  await link.connectOnce()
  expect([dials, connected]).toEqual([2, 1])
})

test('a kept link redials with backoff until a server listens, and again after a lost connection', async () => {
  link.keepConnected()
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

test('a closed link does not redial', async () => {
  link.keepConnected()
  await atRest()
  link.close()
  await clock.advance(60_000)
  expect(dials).toBe(1)
})

test('a link whose dial fails while its socket closes redials', async () => {
  meanwhile = () => lose()
  link.keepConnected()
  await atRest()
  lose()
  listens = true
  meanwhile = () => {}
  await clock.advance(LIMITS.codex_dial_ms)
  expect([dials, connected]).toEqual([2, 1])
})

test('a connection that closes before it is reported counts as a failed dial', async () => {
  listens = true
  meanwhile = () => lose()
  link.keepConnected()
  await atRest()
  expect([dials, connected]).toEqual([1, 0])
  meanwhile = () => {}
  await clock.advance(LIMITS.codex_dial_ms)
  expect([dials, connected]).toEqual([2, 1])
})

test('connectOnce on a kept link dials at once and replaces the scheduled redial', async () => {
  link.keepConnected()
  await atRest()
  for (let asked = 0; asked < 20; asked++) await link.connectOnce()
  expect(dials).toBe(21)
  expect(clock.armed()).toBe(1)
  await clock.advance(60_000)
  expect(dials).toBeLessThan(21 + 60_000 / LIMITS.shim_reconnect_max_ms + 10)
  link.close()
  expect(clock.armed()).toBe(0)
})

test('each failure reason of a kept link is logged once', async () => {
  link.keepConnected()
  await atRest()
  // A starting app-server does not listen yet, so early failures are not logged.
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

test('a failed single dial is not logged as a warning', async () => {
  for (let asked = 0; asked < 20; asked++) await link.connectOnce()
  expect(warned).toEqual([])
})
