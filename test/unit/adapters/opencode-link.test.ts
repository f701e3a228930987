import { beforeEach, expect, test } from 'vitest'
import { opencodeSurface } from '../../../adapters/opencode/opencode-surface.ts'
import { serverLink, type ServerLink } from '../../../adapters/opencode/server-link.ts'
import {
  OpencodeError,
  OpencodeVersionError,
  type OpencodeHandlers,
  type OwnedServer,
} from '../../../adapters/opencode/server.ts'
import { LIMITS } from '../../../src/contracts/limits.ts'
import { silentLog, type Log } from '../../../src/ports/log.ts'
import { atRest, fakeClock, type FakeClock } from '../../support/fake-clock.ts'
import { fakeOpencode } from '../../support/fake-opencode.ts'

let clock: FakeClock
let link: ServerLink
let handlers: OpencodeHandlers[]
let attached: number
let refusal: Error | null
let asked: string[]
let found: 'started' | 'lives'
let warned: string[]
let sessionOn: () => Promise<null>
let connected: number

beforeEach(() => {
  clock = fakeClock()
  handlers = []
  attached = 0
  refusal = null
  asked = []
  found = 'started'
  warned = []
  sessionOn = async () => null
  connected = 0
  const warn: Log['warn'] = (fields, message) => {
    const { err } = fields as { err?: Error }
    warned.push(err === undefined ? message : err.message)
  }
  const surface = opencodeSurface({ identity: 'ada', clock, log: silentLog, keep: () => {} })
  link = serverLink({
    surface: {
      ...surface,
      connected(server, earlier) {
        connected += 1
        return surface.connected(server, earlier)
      },
    },
    ensure: async () => found,
    async connect(given) {
      handlers.push(given)
      if (refusal !== null) throw refusal
      return { ...fakeOpencode(clock).server, close: given.onClose } as Partial<OwnedServer> as OwnedServer
    },
    sessionOn: () => sessionOn(),
    attached: () => void (attached += 1),
    asked: ({ properties }) => void asked.push(properties.id),
    output: 'opencode.log',
    clock,
    log: { ...silentLog, warn },
  })
})

test('nothing is started before somebody wants it, and then once, however many want it', async () => {
  await clock.advance(60_000)
  expect(handlers).toHaveLength(0)
  link.begin()
  link.begin()
  await atRest()
  expect([handlers.length, attached]).toEqual([1, 1])
})

test('a server that ended is sought again, and what it asks is told', async () => {
  link.begin()
  await atRest()
  handlers[0]?.onClose()
  await clock.advance(LIMITS.opencode_dial_ms)
  expect([handlers.length, attached]).toEqual([2, 2])
  handlers[1]?.onAsked({ type: 'permission.asked', properties: { id: 'per_1', sessionID: 'ses_1' } })
  expect(asked).toEqual(['per_1'])
})

test('one that does not answer yet is asked ever more slowly, one of another version hardly ever', async () => {
  refusal = new OpencodeError(null, 'not there')
  link.begin()
  await atRest()
  await clock.advance(LIMITS.opencode_dial_ms)
  expect(handlers).toHaveLength(2)
  await clock.advance(LIMITS.opencode_dial_ms)
  expect(handlers).toHaveLength(2)
  await clock.advance(LIMITS.opencode_dial_ms)
  expect(handlers).toHaveLength(3)
  refusal = new OpencodeVersionError('2.0')
  await clock.advance(LIMITS.opencode_dial_ms * 4)
  expect(handlers).toHaveLength(4)
  await clock.advance(LIMITS.shim_restart_max_ms - 1)
  expect(handlers).toHaveLength(4)
  await clock.advance(1)
  expect(handlers).toHaveLength(5)
})

test('one that is gone before its session is known is not taken for the next', async () => {
  const sessions: (() => void)[] = []
  sessionOn = () => new Promise((resolve) => sessions.push(() => resolve(null)))
  link.begin()
  await atRest()
  handlers[0]?.onClose()
  await clock.advance(LIMITS.opencode_dial_ms)
  sessions[0]?.()
  await atRest()
  expect([handlers.length, connected, attached]).toEqual([2, 0, 0])
  sessions[1]?.()
  await atRest()
  expect([connected, attached]).toEqual([1, 1])
})

/** It answers, and is gone at once. */
async function diesAfter(delay_ms: number): Promise<void> {
  handlers.at(-1)?.onClose()
  await clock.advance(delay_ms)
}

test('one that dies as soon as it is there is started ever more slowly, until it has stayed', async () => {
  link.begin()
  await atRest()
  for (const times of [1, 2, 4]) {
    const before = handlers.length
    await diesAfter(LIMITS.opencode_dial_ms * times - 1)
    expect(handlers).toHaveLength(before)
    await clock.advance(1)
    expect(handlers).toHaveLength(before + 1)
  }
  await clock.advance(LIMITS.shim_stable_ms)
  await diesAfter(LIMITS.opencode_dial_ms)
  expect(handlers).toHaveLength(5)
})

test('one that was of another version and is not any more is started again as soon as any', async () => {
  refusal = new OpencodeVersionError('2.0')
  link.begin()
  await atRest()
  refusal = null
  await clock.advance(LIMITS.shim_restart_max_ms)
  expect(attached).toBe(1)
  await diesAfter(LIMITS.shim_reconnect_max_ms)
  expect(attached).toBe(2)
})

test('that the server has ended is said, and not of one that is only heard anew', async () => {
  link.begin()
  await atRest()
  found = 'lives'
  await diesAfter(LIMITS.opencode_dial_ms)
  expect(warned).toEqual([])
  found = 'started'
  await diesAfter(LIMITS.opencode_dial_ms * 2)
  expect(warned).toEqual(['the opencode server has ended and is started again'])
})

test('every reason why it cannot be used is said once, and again after it has been stable', async () => {
  found = 'lives'
  refusal = new OpencodeError(500, 'it broke')
  link.begin()
  await atRest()
  await clock.advance(10_000)
  expect(warned).toEqual(['it broke'])
  refusal = new Error('could not be started')
  await clock.advance(10_000)
  refusal = new OpencodeError(500, 'it broke')
  await clock.advance(10_000)
  expect(warned).toEqual(['it broke', 'could not be started'])
  refusal = null
  await clock.advance(10_000 + LIMITS.shim_stable_ms)
  refusal = new OpencodeError(500, 'it broke')
  await diesAfter(LIMITS.opencode_dial_ms)
  expect(warned).toEqual(['it broke', 'could not be started', 'it broke'])
})

test('that it does not answer is said only once it had the time to begin', async () => {
  refusal = new OpencodeError(null, 'not there')
  found = 'lives'
  link.begin()
  await atRest()
  await clock.advance(LIMITS.process_start_ms - LIMITS.shim_reconnect_max_ms)
  expect(warned).toEqual([])
  await clock.advance(LIMITS.shim_reconnect_max_ms * 10)
  expect(warned).toEqual(['not there'])
})

test('after the end nothing is sought', async () => {
  link.begin()
  await atRest()
  link.close()
  handlers[0]?.onClose()
  await clock.advance(60_000)
  link.begin()
  await atRest()
  expect(handlers).toHaveLength(1)
  expect(clock.armed()).toBe(0)
})
