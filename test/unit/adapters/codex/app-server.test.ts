/** The client of the app-server, over a real socket: the test plays the server. */
import fs from 'node:fs'
import http from 'node:http'
import path from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { WebSocketServer, type WebSocket } from 'ws'
import * as z from 'zod'
import {
  AppServerError,
  connectAppServer,
  INVALID_REQUEST,
  OVERLOADED,
  type AppServerHandlers,
} from '../../../../adapters/codex/app-server.ts'
import { createLink } from '../../../../adapters/codex/link.ts'
import { LIMITS } from '../../../../src/contracts/limits/limits.ts'
import { silentLog } from '../../../../src/ports/log.ts'
import { eventually } from '../../../support/eventually.ts'
import { fakeClock, type FakeClock } from '../../../support/fakes/fake-clock.ts'
import { temporaryDirectory } from '../../../support/temporary-directory.ts'

interface Asked {
  id: number | string
  method?: string
  result?: unknown
}

let clock: FakeClock
let listener: http.Server
let sockets: WebSocketServer
let socket_path: string
let received: Asked[]
/** How the server answers a request. */
let respond: (asked: Asked, socket: WebSocket) => void
const log = { ...silentLog, warn: (fields: object) => void warned.push(fields) }
let warned: object[]

beforeEach(async () => {
  clock = fakeClock()
  received = []
  warned = []
  respond = ({ id }, socket) => socket.send(JSON.stringify({ id, result: { userAgent: 'test' } }))
  socket_path = path.join(temporaryDirectory(), 'codex.sock')
  listener = http.createServer()
  sockets = new WebSocketServer({ server: listener })
  sockets.on('connection', (socket) => {
    socket.on('message', (data: Buffer) => {
      const asked = JSON.parse(data.toString()) as Asked
      received.push(asked)
      if (asked.method !== undefined && asked.id !== undefined) respond(asked, socket)
    })
  })
  await new Promise<void>((resolve) => listener.listen(socket_path, resolve))
})
afterEach(() => {
  for (const socket of sockets.clients) socket.terminate()
  listener.close()
})

const connect = (handlers: Partial<AppServerHandlers> = {}) =>
  connectAppServer(
    socket_path,
    { version: '0', clock, log },
    { onNotification() {}, onClose() {}, ...handlers },
  )
const noneIsLeft = () => eventually('the socket is closed', () => sockets.clients.size === 0)

test('a server that never answers `initialize` is disconnected', async () => {
  respond = () => {}
  const refused = expect(connect()).rejects.toThrow('initialize timed out')
  await eventually('it was asked', () => received.length === 1)
  await clock.advance(LIMITS.codex_answer_ms)
  await refused
  await noneIsLeft()
})

test('a server with an invalid answer to `initialize` is disconnected', async () => {
  respond = ({ id }, socket) => socket.send(JSON.stringify({ id, result: 'hello' }))
  await expect(connect()).rejects.toThrow('initialize was answered in an unknown format')
  await noneIsLeft()
})

test('a server that closes before it answers is dialled again', async () => {
  respond = (_asked, socket) => socket.terminate()
  let connected = 0
  let ended = 0
  const link = createLink({
    dial(onClose) {
      const ends = () => {
        onClose()
        ended += 1
      }
      return connect({ onClose: ends })
    },
    onConnected: () => (connected += 1),
    onClosed: () => {},
    clock,
    log,
  })
  link.keepConnected()
  await eventually('another try is due', () => ended === 1 && clock.armed() === 1)
  respond = ({ id }, socket) => socket.send(JSON.stringify({ id, result: {} }))
  await clock.advance(LIMITS.codex_dial_ms)
  await eventually('it is connected', () => connected === 1)
  link.close()
  await noneIsLeft()
})

test.each(['a b', 'zoë', 'a:b', 'a?b#c', '100%25'])(
  'a server is reached whose socket is in a folder named %j',
  async (name) => {
    const folder = path.join(path.dirname(socket_path), name)
    fs.mkdirSync(folder)
    socket_path = path.join(folder, 'codex.sock')
    await new Promise<void>((resolve) => listener.close().listen(socket_path, resolve))
    expect((await connect()).user_agent).toBe('test')
  },
)

test('a call can have a longer timeout than the default', async () => {
  const server = await connect()
  respond = () => {}
  const given_up: string[] = []
  const call = (method: string, patience_ms?: number) =>
    server.call(method, {}, z.unknown(), patience_ms).catch(() => given_up.push(method))
  const calls = [call('usual'), call('slow', LIMITS.codex_start_ms)]
  await clock.advance(LIMITS.codex_answer_ms)
  expect(given_up).toEqual(['usual'])
  await clock.advance(LIMITS.codex_start_ms)
  await Promise.all(calls)
  expect(given_up).toEqual(['usual', 'slow'])
})

test('a request of the server is answered after its handler has called the server', async () => {
  const ask = { id: 'q-1', method: 'item/tool/requestUserInput', params: { threadId: 't-1' } }
  await connect({
    answer: async ({ params }, server) => ({
      of: params.threadId,
      ...(await server.call('thread/read', {}, z.looseObject({}))),
    }),
  })
  respond = ({ id }, socket) => socket.send(JSON.stringify({ id, result: { read: true } }))
  for (const socket of sockets.clients) socket.send(JSON.stringify(ask))
  await eventually('it is answered', () => received.some(({ id }) => id === 'q-1'))
  expect(received.at(-1)).toEqual({ id: 'q-1', result: { of: 't-1', read: true } })
})

describe('a request of the server', () => {
  const ask = { id: 'q-1', method: 'item/tool/requestUserInput', params: { threadId: 't-1' } }
  const asks = () => {
    for (const socket of sockets.clients) socket.send(JSON.stringify(ask))
  }

  test.each([
    ['the thread is unknown', new AppServerError(INVALID_REQUEST, 'thread not loaded')],
    ['the handler has a bug', new Error('a bug')],
  ])('stays open and is logged if %s', async (_why, error) => {
    await connect({ answer: () => Promise.reject(error) })
    asks()
    await eventually('it is logged', () => warned.length === 1)
    expect(warned).toMatchObject([{ retried: false }])
    expect(clock.armed()).toBe(0)
    expect(received.map(({ method }) => method)).toEqual(['initialize', 'initialized'])
  })

  /** Connects with a handler that has to ask the server whose thread it is. */
  const connectWith = async (whose: typeof respond) => {
    const server = await connect({
      answer: async (_request, asked) =>
        asked.call('thread/read', {}, z.looseObject({ read: z.literal(true) })),
    })
    respond = whose
    asks()
    return server
  }
  const says: typeof respond = ({ id }, socket) => socket.send(JSON.stringify({ id, result: { read: true } }))
  const isSilent: typeof respond = () => {}
  const isBusy: typeof respond = ({ id }, socket) =>
    socket.send(JSON.stringify({ id, error: { code: OVERLOADED, message: 'retry later' } }))
  const lookedUp = (times: number) =>
    eventually(
      'it is looked up',
      () => received.filter(({ method }) => method === 'thread/read').length === times,
    )

  test.each([
    ['is silent', isSilent],
    ['is overloaded', isBusy],
  ])('is answered when a server that %s reports its thread', async (_what, whose) => {
    await connectWith(whose)
    for (const time of [1, 2]) {
      await lookedUp(time)
      if (whose === isSilent) await clock.advance(LIMITS.codex_answer_ms)
      // Not the timeout of a call that is still running.
      await eventually('another try is due', () => clock.nextIn() === LIMITS.codex_search_retry_ms)
      if (time === 2) respond = says
      await clock.advance(LIMITS.codex_search_retry_ms)
    }
    await eventually('it is answered', () => received.some(({ id }) => id === 'q-1'))
    expect(received.at(-1)).toEqual({ id: 'q-1', result: { read: true } })
    expect(warned).toMatchObject([{ retried: true }])
  })

  test('is left to a person if the thread is reported in an unknown format', async () => {
    await connectWith(({ id }, socket) => socket.send(JSON.stringify({ id, result: {} })))
    await eventually('it is logged', () => warned.length === 1)
    expect(warned).toMatchObject([{ retried: false }])
    expect(clock.armed()).toBe(0)
  })

  test('is dropped when the server has closed the connection', async () => {
    const server = await connectWith(isSilent)
    await lookedUp(1)
    await clock.advance(LIMITS.codex_answer_ms)
    server.close()
    await noneIsLeft()
    await clock.advance(LIMITS.codex_search_retry_ms)
    expect(clock.armed()).toBe(0)
    expect(warned).toMatchObject([{ retried: true }])
  })

  test('is not logged if the server closed the connection during the call', async () => {
    let closed = false
    await connect({
      onClose: () => (closed = true),
      answer: async (_request, server) => server.call('thread/read', {}, z.looseObject({})),
    })
    respond = (_asked, socket) => socket.terminate()
    asks()
    await eventually('it is gone', () => closed)
    await clock.advance(0)
    expect(warned).toEqual([])
    expect(clock.armed()).toBe(0)
  })
})
