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

beforeEach(() => {
  clock = fakeClock()
  dials = 0
  connected = 0
  listens = false
  const server: AppServer = { user_agent: '', call: () => Promise.reject(new Error('unused')), close() {} }
  link = lastingLink({
    async dial(onClose) {
      dials += 1
      if (!listens) throw new Error('nobody listens')
      lose = onClose
      return server
    },
    onConnected: () => (connected += 1),
    onClosed: () => (connected -= 1),
    clock,
    log: silentLog,
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
