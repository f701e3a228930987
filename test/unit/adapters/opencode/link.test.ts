import { beforeEach, describe, expect, test } from 'vitest'
import { opencodeSurface, type OpencodeSurface } from '../../../../adapters/opencode/opencode-surface.ts'
import { serverLink, type ServerLink } from '../../../../adapters/opencode/server-link.ts'
import {
  OpencodeError,
  OpencodeVersionError,
  type OpencodeHandlers,
  type OwnedServer,
  type SessionRef,
} from '../../../../adapters/opencode/server.ts'
import { LIMITS } from '../../../../src/contracts/limits/limits.ts'
import { silentLog, type Log } from '../../../../src/ports/log.ts'
import { atRest, fakeClock, type FakeClock } from '../../../support/fakes/fake-clock.ts'
import { doorbell } from '../../../support/doorbells.ts'
import { fakeOpencode, session } from '../../../support/fakes/fake-opencode.ts'

let clock: FakeClock
let link: ServerLink
let handlers: OpencodeHandlers[]
let attached: number
let refusal: Error | null
let asked: string[]
let found: 'started' | 'lives'
let warned: string[]
let sessionOn: () => Promise<SessionRef | null>
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
  surface = opencodeSurface({ identity: 'ada', clock, log: silentLog, storeSession: () => {}, onUnbound })
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
    chooseSession: () => sessionOn(),
    onAttached: () => attach(),
    onRequest: ({ properties }) => void asked.push(properties.id),
    output: 'opencode.log',
    clock,
    log: { ...silentLog, warn },
  })
})

test('a server is started once, when it is first requested', async () => {
  await clock.advance(60_000)
  expect(handlers).toHaveLength(0)
  link.start()
  link.start()
  await atRest()
  expect([handlers.length, attached]).toEqual([1, 1])
})

test('a server that ended is connected again, and its requests are passed on', async () => {
  link.start()
  await atRest()
  handlers[0]?.onClose()
  await clock.advance(LIMITS.opencode_dial_ms)
  expect([handlers.length, attached]).toEqual([2, 2])
  handlers[1]?.onRequest({ type: 'permission.asked', properties: { id: 'per_1', sessionID: 'ses_1' } })
  expect(asked).toEqual(['per_1'])
})

test('a server without an answer is redialled with backoff, one of another version at the longest delay', async () => {
  refusal = new OpencodeError(null, 'not there')
  link.start()
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

test('a server lost before its session is known is not mistaken for the next one', async () => {
  const sessions: (() => void)[] = []
  sessionOn = () => new Promise((resolve) => sessions.push(() => resolve(null)))
  link.start()
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

/** The server answers and closes at once. */
async function diesAfter(delay_ms: number): Promise<void> {
  handlers.at(-1)?.onClose()
  await clock.advance(delay_ms)
}

test('a server that dies at once is restarted with backoff until it has been stable', async () => {
  link.start()
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

test('a server whose version was fixed is restarted with the usual delay', async () => {
  refusal = new OpencodeVersionError('2.0')
  link.start()
  await atRest()
  refusal = null
  await clock.advance(LIMITS.shim_restart_max_ms)
  expect(attached).toBe(1)
  await diesAfter(LIMITS.shim_reconnect_max_ms)
  expect(attached).toBe(2)
})

test('an exited server is logged, a mere reconnect is not', async () => {
  link.start()
  await atRest()
  found = 'lives'
  await diesAfter(LIMITS.opencode_dial_ms)
  expect(warned).toEqual([])
  found = 'started'
  await diesAfter(LIMITS.opencode_dial_ms * 2)
  expect(warned).toHaveLength(1)
})

test('each failure reason is logged once, and again after the server has been stable', async () => {
  found = 'lives'
  refusal = new OpencodeError(500, 'it broke')
  link.start()
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

test('a missing answer is logged only after the start timeout', async () => {
  refusal = new OpencodeError(null, 'not there')
  found = 'lives'
  link.start()
  await atRest()
  await clock.advance(LIMITS.process_start_ms - LIMITS.shim_reconnect_max_ms)
  expect(warned).toEqual([])
  await clock.advance(LIMITS.shim_reconnect_max_ms * 10)
  expect(warned).toEqual(['not there'])
})

test('a server that no longer answers after a version error is redialled with the usual delay', async () => {
  refusal = new OpencodeVersionError('2.0')
  link.start()
  await atRest()
  refusal = new OpencodeError(null, 'not there')
  await clock.advance(LIMITS.shim_restart_max_ms)
  expect(handlers).toHaveLength(2)
  await clock.advance(LIMITS.shim_reconnect_max_ms)
  expect(handlers).toHaveLength(3)
})

test('a request during the backoff dials at once and only once', async () => {
  refusal = new OpencodeVersionError('2.0')
  link.start()
  await atRest()
  refusal = null
  link.start()
  link.start()
  await atRest()
  expect([handlers.length, attached]).toEqual([2, 1])
  await clock.advance(LIMITS.shim_restart_max_ms)
  expect(handlers).toHaveLength(2)
})

test('a server of another version is stopped only if this process started it', async () => {
  refusal = new OpencodeVersionError('2.0')
  found = 'lives'
  link.start()
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

test('a connected server works although recording it failed, which is retried at the next request', async () => {
  const before = attach
  attach = () => {
    throw new Error('the disk is full')
  }
  link.start()
  await atRest()
  await clock.advance(60_000)
  expect([handlers.length, connected]).toEqual([1, 1])
  expect(warned).toEqual(['the disk is full'])
  attach = before
  link.start()
  link.start()
  expect([handlers.length, attached]).toEqual([1, 1])
})

describe('a lost session of a connected server', () => {
  const place = (id: string) => ({ id, directory: '/project' })
  let sessions: string[]
  let sought: number
  beforeEach(async () => {
    sessions = ['ses_1', 'ses_new']
    sought = 0
    sessionOn = async () => place(sessions[sought++] ?? 'ses_new')
    link.start()
    await atRest()
    expect(await surface.status()).toMatchObject({ session_id: 'ses_1', turn: 'idle' })
  })

  const deleted = (id: string) =>
    handlers.at(-1)?.onEvent({ type: 'session.deleted', properties: { sessionID: id } })

  test('a deleted session is replaced by another one', async () => {
    deleted('ses_1')
    await atRest()
    expect(await surface.status()).toMatchObject({ session_id: 'ses_new', turn: 'idle' })
    expect([sought, handlers.length]).toEqual([2, 1])
  })

  test.each(['session', 'prompt'] as const)(
    'a session is replaced by another one after a %s call returns not found',
    async (what) => {
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
    },
  )

  test('another session is chosen once, even if it is missed repeatedly', async () => {
    let answer = (_place: SessionRef) => {}
    sessionOn = () => new Promise((resolve) => ((sought += 1), (answer = resolve)))
    deleted('ses_1')
    link.unbound()
    await atRest()
    expect(sought).toBe(2)
    answer(place('ses_new'))
    await atRest()
    expect(await surface.status()).toMatchObject({ session_id: 'ses_new' })
  })

  test.each<[string, () => Promise<SessionRef>]>([
    ['none is said', () => Promise.reject(new OpencodeError(500, 'it broke'))],
    ['the next is gone too', async () => place('ses_gone')],
  ])('another session is chosen by a new connection if %s', async (_, fails) => {
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

test('a closed link does not redial', async () => {
  link.start()
  await atRest()
  link.close()
  handlers[0]?.onClose()
  await clock.advance(60_000)
  link.start()
  await atRest()
  expect(handlers).toHaveLength(1)
  expect(clock.armed()).toBe(0)
})
