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
import { silentLog } from '../../../src/ports/log.ts'
import { atRest, fakeClock, type FakeClock } from '../../support/fake-clock.ts'
import { fakeOpencode } from '../../support/fake-opencode.ts'

let clock: FakeClock
let link: ServerLink
let handlers: OpencodeHandlers[]
let attached: number
let refusal: Error | null
let asked: string[]

beforeEach(() => {
  clock = fakeClock()
  handlers = []
  attached = 0
  refusal = null
  asked = []
  const surface = opencodeSurface({ identity: 'ada', clock, log: silentLog, keep: () => {} })
  link = serverLink({
    surface,
    async connect(given) {
      handlers.push(given)
      if (refusal !== null) throw refusal
      return { ...fakeOpencode(clock).server, close: given.onClose } as Partial<OwnedServer> as OwnedServer
    },
    sessionOn: async () => null,
    attached: () => void (attached += 1),
    asked: ({ properties }) => void asked.push(properties.id),
    clock,
    log: silentLog,
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

test('after the end nothing is sought', async () => {
  link.begin()
  await atRest()
  link.close()
  handlers[0]?.onClose()
  await clock.advance(60_000)
  link.begin()
  await atRest()
  expect(handlers).toHaveLength(1)
})
