/**
 * Tests callers that give up while the hub is suspended, and callers that never read their response: the operating
 * system accepts the response all the same. Each caller is a separate process, because the hub's event loop is blocked.
 */
import { spawn, type ChildProcess } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import * as z from 'zod'
import { defineAction, defineFacade } from '../../../src/kernel/define.ts'
import { DrainInput, DrainResult, SendInput } from '../../../src/contracts/signal.ts'
import { RECEIVED, type SentAnswer } from '../../../src/ports/sent-answer.ts'
import { eventually } from '../../support/eventually.ts'
import { startSmallHub, type SmallHub } from '../../support/worlds/small-hub.ts'
import { temporaryDirectory } from '../../support/temporary-directory.ts'

let hub: SmallHub
let place: string
let client: ChildProcess
let answers: { written: Promise<'written' | 'broken'>; received: Promise<'received' | 'broken'> }[]

const mark = (name: string) => path.join(place, name)
const wait = (name: string) => {
  const nobody = new Int32Array(new SharedArrayBuffer(4))
  while (!fs.existsSync(mark(name))) Atomics.wait(nobody, 0, 0, 1)
}
const watch = (answer: SentAnswer) => {
  answers.push({ written: answer.written(), received: answer.received() })
}
/** Blocks the whole process until the caller is done. */
const standStill = () => {
  fs.writeFileSync(mark('asked'), '')
  wait('done')
}

const probe = defineFacade({
  name: 'probe',
  summary: 'Drains.',
  compact: 'Drains.',
  facet: 'core',
  actions: {
    drain: defineAction({
      summary: 'Drains, and then stands still.',
      mutates: true,
      input: DrainInput,
      output: DrainResult,
      errors: [],
      allow: ['agent'],
      handle: async (input, { modules: { signals }, caller, answer }) => {
        watch(answer)
        const drained = await signals.drain(caller, input, answer)
        standStill()
        return drained
      },
    }),
    answer: defineAction({
      summary: 'Answers at once.',
      mutates: true,
      input: z.strictObject({}),
      output: z.object({ text: z.string() }),
      errors: [],
      allow: ['agent'],
      handle: (_, { answer }) => {
        watch(answer)
        return { text: 'x' }
      },
    }),
  },
})

beforeEach(async () => {
  answers = []
  place = temporaryDirectory()
  hub = await startSmallHub({ facades: [probe] })
  await hub.personas.add({ identity: 'ada', surface: 'mcp' })
})
afterEach(async () => {
  client.kill('SIGKILL')
  await hub.close()
})

/** Programs of callers, by what they do with their connection. */
const CALLERS = {
  'gives up while the hub stands still':
    "when('asked', () => socket.destroy()); socket.on('close', () => mark('done'))",
  'reads the answer and closes': "socket.on('data', () => socket.destroy())",
  'reads the answer and asks again': "socket.once('data', () => socket.write(text)); socket.resume()",
  'reads the answer and stays': "socket.on('data', () => mark('read'))",
  'never reads, and closes': "socket.pause(); when('written', () => socket.destroy())",
  'never reads, and is killed': "socket.pause(); when('written', () => process.kill(process.pid, 'SIGKILL'))",
} as const

function call(action: 'drain' | 'answer', does: keyof typeof CALLERS, connection: string): void {
  const text =
    `POST /api/probe/${action} HTTP/1.1\r\nHost: 127.0.0.1:${hub.port}\r\nAuthorization: Bearer ${hub.token('ada')}\r\n` +
    `Connection: ${connection}\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}`
  const program = `
    const fs = require('node:fs')
    const [place, port, text] = process.argv.slice(1)
    const mark = (name) => fs.writeFileSync(place + '/' + name, '')
    const when = (name, then) => (fs.existsSync(place + '/' + name) ? then() : setImmediate(when, name, then))
    const socket = require('node:net').connect(Number(port), '127.0.0.1', () => {
      ${CALLERS[does]}
      socket.write(text)
    })
    socket.on('error', () => {})`
  client = spawn(process.execPath, ['-e', program, place, String(hub.port), text], { stdio: 'inherit' })
}

const first = async () => {
  await eventually('it has asked', () => answers.length > 0)
  const [answer] = answers
  if (answer === undefined) throw new Error('nothing was asked')
  return answer
}

test.each(['keep-alive', 'close'])(
  'a drain cancelled while the hub is suspended (%s) is broken, and its signals are delivered again',
  async (connection) => {
    const operator = { tenant_id: 'local', kind: 'operator', identity: 'operator' } as const
    const ada = { tenant_id: 'local', kind: 'agent', identity: 'ada' } as const
    await hub.signals.send(operator, SendInput.parse({ to: 'ada', intent: 'one' }))
    call('drain', 'gives up while the hub stands still', connection)
    const { written, received } = await first()
    expect(await written).toBe('broken')
    expect(await received).toBe('broken')
    await eventually('it waits again', () => hub.store.pendingCount('ada') === 1)
    const again = await hub.signals.drain(ada, DrainInput.parse({}), RECEIVED)
    expect(again.signals).toMatchObject([{ intent: 'one', deliveries: 2 }])
  },
)

test.each([
  ['reads the answer and closes', 'keep-alive'],
  ['reads the answer and closes', 'close'],
  ['reads the answer and asks again', 'keep-alive'],
] as const)('a caller that %s (%s) has received the answer', async (does, connection) => {
  call('answer', does, connection)
  const { written, received } = await first()
  expect(await written).toBe('written')
  expect(await received).toBe('received')
})

test.each([
  ['never reads, and closes', 'keep-alive'],
  ['never reads, and closes', 'close'],
  ['never reads, and is killed', 'keep-alive'],
  ['never reads, and is killed', 'close'],
] as const)('a caller that %s (%s) has not received the answer', async (does, connection) => {
  call('answer', does, connection)
  const { written, received } = await first()
  expect(await written).toBe('written')
  fs.writeFileSync(mark('written'), '')
  expect(await received).toBe('broken')
})

test('receipt by a caller that reads the answer and stays connected is unknown until it disconnects', async () => {
  call('answer', 'reads the answer and stays', 'keep-alive')
  const { written, received } = await first()
  expect(await written).toBe('written')
  await eventually('it was read', () => fs.existsSync(mark('read')))
  expect(await Promise.race([received, Promise.resolve('open')])).toBe('open')
  client.kill('SIGKILL')
  expect(await received).toBe('received')
})
