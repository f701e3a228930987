/** The messages written to a session's inbox socket, and its failures. */
import net from 'node:net'
import path from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { sessionInbox } from '../../../../adapters/claude-code/inbox.ts'
import { LIMITS } from '../../../../src/contracts/limits/limits.ts'
import { silentLog } from '../../../../src/ports/log.ts'
import { systemClock } from '../../../../src/system/clock.ts'
import { eventually } from '../../../support/eventually.ts'
import { atRest, fakeClock } from '../../../support/fakes/fake-clock.ts'
import { temporaryHome } from '../../../support/processes/processes.ts'

const servers: net.Server[] = []
afterEach(() => {
  for (const server of servers.splice(0)) server.close()
})

/** A client that reads messages and never answers. */
async function client(onConnection: (socket: net.Socket) => void): Promise<string> {
  const socket = path.join(temporaryHome(), 'inbox.sock')
  const server = net.createServer(onConnection)
  servers.push(server)
  await new Promise<void>((resolve) => server.listen(socket, resolve))
  return socket
}

const inbox = (socket: string | undefined, token?: string, clock = systemClock) =>
  sessionInbox({ socket, token, clock, log: silentLog })

async function linesOf(post: (socket: string) => Promise<unknown>): Promise<Record<string, unknown>[]> {
  let text = ''
  let closed = false
  const socket = await client((connection) => {
    connection.on('data', (chunk: Buffer) => (text += chunk.toString()))
    connection.on('close', () => (closed = true))
  })
  await post(socket)
  await eventually('the connection is closed', () => closed)
  return text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>)
}

test('a doorbell is an auth line and one user message, then the connection ends', async () => {
  const lines = await linesOf(async (socket) =>
    expect(await inbox(socket, 'secret').post('ring')).toBe('sent'),
  )
  expect(lines).toEqual([
    { type: 'auth', token: 'secret' },
    {
      type: 'user',
      msgV: 1,
      msg_id: expect.stringMatching(/^[0-9a-f-]{36}$/) as string,
      priority: 'next',
      message: { role: 'user', content: 'ring' },
    },
  ])
})

test('a doorbell without a token has no auth line', async () => {
  const lines = await linesOf((socket) => inbox(socket).post('ring'))
  expect(lines.map(({ type }) => type)).toEqual(['user'])
})

test('two doorbells are two messages with different ids', async () => {
  const ids = new Set<unknown>()
  for (const text of ['one', 'two']) {
    const [line] = await linesOf((socket) => inbox(socket).post(text))
    ids.add(line!['msg_id'])
  }
  expect(ids.size).toBe(2)
})

test.each([undefined, '/no/such/inbox.sock'])('an inbox at %s is unavailable', async (socket) => {
  expect(await inbox(socket).post('ring')).toBe('unavailable')
})

test('a client that closes at once results in sent or failed, without an exception', async () => {
  const socket = await client((connection) => connection.destroy())
  expect(['sent', 'failed']).toContain(await inbox(socket).post('ring'))
})

test('a text is unread until the client has read it and closed the connection', async () => {
  let read: (() => void) | undefined
  const socket = await client((connection) => {
    connection.pause()
    read = () => connection.resume()
  })
  const path_in = inbox(socket)
  expect(path_in.unread?.()).toBe(false)
  expect(await path_in.post('ring')).toBe('sent')
  await eventually('the client has the connection', () => read)
  expect(path_in.unread?.()).toBe(true)
  read?.()
  await eventually('it is read', () => path_in.unread?.() === false)
})

test('at most one connection stays open that the client does not read', async () => {
  const clock = fakeClock()
  const open = new Set<net.Socket>()
  const socket = path.join(temporaryHome(), 'inbox.sock')
  const server = net.createServer({ allowHalfOpen: true, pauseOnConnect: true }, (connection) => {
    open.add(connection)
    connection.on('error', () => {}).once('close', () => open.delete(connection))
    // A write to a closed connection fails.
    server.on('look', () => connection.write('anybody there?'))
  })
  servers.push(server)
  await new Promise<void>((resolve) => server.listen(socket, resolve))
  const path_in = inbox(socket, undefined, clock)
  expect(await path_in.post('one')).toBe('sent')
  expect(await path_in.post('two')).toBe('sent')
  expect([path_in.unread?.(), clock.armed()]).toEqual([true, 0])
  await eventually('the first is closed', () => {
    server.emit('look')
    return open.size === 1
  })
  for (const connection of open) connection.destroy()
})

test('an inbox that does not read fails after a timeout', async () => {
  const clock = fakeClock()
  let connected = false
  const socket = await client((connection) => {
    connection.pause()
    connected = true
  })
  // More than fits into the pipe, so that the write cannot end.
  const posting = inbox(socket, undefined, clock).post('x'.repeat(64 * 1024 * 1024))
  await eventually('it is written to', () => connected)
  await atRest()
  await clock.advance(LIMITS.inbox_answer_ms)
  expect(await posting).toBe('failed')
  expect(clock.armed()).toBe(0)
})
