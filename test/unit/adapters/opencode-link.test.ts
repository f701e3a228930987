import { beforeEach, describe, expect, test } from 'vitest'
import { opencodeSurface, type OpencodeSurface } from '../../../adapters/opencode/opencode-surface.ts'
import { serverLink, type ServerLink } from '../../../adapters/opencode/server-link.ts'
import {
  OpencodeError,
  OpencodeVersionError,
  type OpencodeHandlers,
  type OwnedServer,
  type Place,
} from '../../../adapters/opencode/server.ts'
import { LIMITS } from '../../../src/contracts/limits.ts'
import { silentLog, type Log } from '../../../src/ports/log.ts'
import { atRest, fakeClock, type FakeClock } from '../../support/fake-clock.ts'
import { doorbell } from '../../support/doorbells.ts'
import { fakeOpencode, session } from '../../support/fake-opencode.ts'

let clock: FakeClock
let link: ServerLink
let handlers: OpencodeHandlers[]
let attached: number
let refusal: Error | null
let asked: string[]
let found: 'started' | 'lives'
let warned: string[]
let sessionOn: () => Promise<Place | null>
let connected: number
let stopped: number
let attach: () => void
let surface: OpencodeSurface
let servers: OwnedServer[]
let server: ReturnType<typeof fakeOpencode>

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
  stopped = 0
  servers = []
  attach = () => void (attached += 1)
  server = fakeOpencode(clock, [session('ses_1'), session('ses_new')])
  const warn: Log['warn'] = (fields, message) => {
    const { err } = fields as { err?: Error }
    warned.push(err === undefined ? message : err.message)
  }
  const onUnbound = () => link.unbound()
  surface = opencodeSurface({ identity: 'ada', clock, log: silentLog, keep: () => {}, onUnbound })
  link = serverLink({
    surface: {
      ...surface,
      connected(server, earlier) {
        connected += 1
        return surface.connected(server, earlier)
      },
    },
    ensure: async () => found,
    stop: () => void (stopped += 1),
    async connect(given) {
      handlers.push(given)
      if (refusal !== null) throw refusal
      const made = { ...server.server, close: given.onClose } as Partial<OwnedServer> as OwnedServer
      servers.push(made)
      return made
    },
    sessionOn: () => sessionOn(),
    attached: () => attach(),
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

test('one that was of another version, and then does not answer, is asked for as soon as any', async () => {
  refusal = new OpencodeVersionError('2.0')
  link.begin()
  await atRest()
  refusal = new OpencodeError(null, 'not there')
  await clock.advance(LIMITS.shim_restart_max_ms)
  expect(handlers).toHaveLength(2)
  await clock.advance(LIMITS.shim_reconnect_max_ms)
  expect(handlers).toHaveLength(3)
})

test('whoever wants one while it waits has it sought at once, and no second time', async () => {
  refusal = new OpencodeVersionError('2.0')
  link.begin()
  await atRest()
  refusal = null
  link.begin()
  link.begin()
  await atRest()
  expect([handlers.length, attached]).toEqual([2, 1])
  await clock.advance(LIMITS.shim_restart_max_ms)
  expect(handlers).toHaveLength(2)
})

test('one of another version is ended where it was started here, and otherwise left to whoever is in it', async () => {
  refusal = new OpencodeVersionError('2.0')
  found = 'lives'
  link.begin()
  await atRest()
  expect(stopped).toBe(0)
  found = 'started'
  await clock.advance(LIMITS.shim_restart_max_ms)
  expect(stopped).toBe(1)
  warned = []
  await clock.advance(LIMITS.shim_restart_max_ms)
  expect(stopped).toBe(2)
  expect(warned).toEqual([])
})

test('one that answers is heard, though that is told only to whoever asks later', async () => {
  const before = attach
  attach = () => {
    throw new Error('the disk is full')
  }
  link.begin()
  await atRest()
  await clock.advance(60_000)
  expect([handlers.length, connected]).toEqual([1, 1])
  expect(warned).toEqual(['the disk is full'])
  attach = before
  link.begin()
  link.begin()
  expect([handlers.length, attached]).toEqual([1, 1])
})

describe('a session that is gone while its server is there', () => {
  const place = (id: string) => ({ id, directory: '/project' })
  let sessions: string[]
  let sought: number
  beforeEach(async () => {
    sessions = ['ses_1', 'ses_new']
    sought = 0
    sessionOn = async () => place(sessions[sought++] ?? 'ses_new')
    link.begin()
    await atRest()
    expect(await surface.status()).toMatchObject({ session_id: 'ses_1', turn: 'idle' })
  })

  const deleted = (id: string) =>
    handlers.at(-1)?.onEvent({ type: 'session.deleted', properties: { sessionID: id } })

  test('is followed by another once it is told that it was deleted', async () => {
    deleted('ses_1')
    await atRest()
    expect(await surface.status()).toMatchObject({ session_id: 'ses_new', turn: 'idle' })
    expect([sought, handlers.length]).toEqual([2, 1])
  })

  test.each(['session', 'prompt'] as const)('is followed by another once a %s is not found', async (what) => {
    const [at] = servers as [OwnedServer]
    const real = { ...at }
    if (what === 'session') server.sessions.shift()
    else at.prompt = () => Promise.reject(new OpencodeError(404, 'gone'))
    expect(await surface.notify_surface(doorbell())).toMatchObject({ proof: 'failed' })
    await atRest()
    expect(await surface.status()).toMatchObject({ session_id: 'ses_new' })
    expect(sought).toBe(2)
    at.prompt = (where, prompt) => real.prompt(where, prompt)
    expect(await surface.notify_surface(doorbell())).toMatchObject({ accepted: true })
  })

  test('is asked for once, however often one is missed meanwhile', async () => {
    let answer = (_place: Place) => {}
    sessionOn = () => new Promise((resolve) => ((sought += 1), (answer = resolve)))
    deleted('ses_1')
    link.unbound()
    await atRest()
    expect(sought).toBe(2)
    answer(place('ses_new'))
    await atRest()
    expect(await surface.status()).toMatchObject({ session_id: 'ses_new' })
  })

  test.each<[string, () => Promise<Place>]>([
    ['none is said', () => Promise.reject(new OpencodeError(500, 'it broke'))],
    ['the next is gone too', async () => place('ses_gone')],
  ])('is looked for by a new connection where %s', async (_, fails) => {
    const before = sessionOn
    sessionOn = fails
    deleted('ses_1')
    await atRest()
    sessionOn = before
    await clock.advance(LIMITS.opencode_dial_ms)
    expect(await surface.status()).toMatchObject({ session_id: 'ses_new' })
    expect(handlers).toHaveLength(2)
  })
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
