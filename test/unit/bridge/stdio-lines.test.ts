/** The bridge's end of a client's pipe. */
import { PassThrough, Writable } from 'node:stream'
import { beforeEach, describe, expect, test } from 'vitest'
import { type JSONRPCMessage, STDIO_DEFAULT_MAX_BUFFER_SIZE } from '@modelcontextprotocol/server'
import { stdioLines, type StdioLines } from '../../../src/transports/bridge/stdio-lines.ts'
import { atRest, fakeClock } from '../../support/fake-clock.ts'

const PING = { jsonrpc: '2.0', id: 1, method: 'ping' } as const
const line = (message: object) => `${JSON.stringify(message)}\n`

let input: PassThrough
let received: JSONRPCMessage[]
let passed_over: string[]
let output: PassThrough
let ended: number
let lines: StdioLines

async function begin(to: Writable = output): Promise<void> {
  lines = stdioLines(input, to)
  lines.onmessage = (message) => received.push(message)
  lines.onpassedover = (why) => passed_over.push(why)
  lines.onended = () => (ended += 1)
  await lines.start()
}

beforeEach(async () => {
  input = new PassThrough()
  received = []
  passed_over = []
  output = new PassThrough()
  ended = 0
  await begin()
})

describe('what comes in', () => {
  test('is read line by line, whatever the chunks', async () => {
    const text = line(PING) + line({ ...PING, id: 2, params: { text: 'ünïcödé …' } })
    for (const byte of Buffer.from(text)) input.write(Buffer.from([byte]))
    await atRest()
    expect(received).toHaveLength(2)
    expect(received[1]).toMatchObject({ id: 2, params: { text: 'ünïcödé …' } })
  })

  test('is heard before the SDK has it', async () => {
    const order: string[] = []
    lines.onreceived = () => order.push('heard')
    lines.onmessage = () => order.push('taken')
    input.write(line(PING))
    await atRest()
    expect(order).toEqual(['heard', 'taken'])
  })

  test.each(['{}', '"x"', '{"jsonrpc":"2.0","id":1,"result":7}'])(
    'is passed over where it is no message: %s',
    async (garbage) => {
      input.write(`${garbage}\n\n${line(PING)}`)
      await atRest()
      expect(passed_over).toHaveLength(1)
      expect(received).toHaveLength(1)
    },
  )

  test.each(['not json', '{"jsonrpc":"2.0","id":1,', '{} {}'])(
    'is answered under no id where it is not JSON: %s',
    async (garbage) => {
      input.write(`${garbage}\n${line(PING)}`)
      await atRest()
      expect(JSON.parse(String(output.read()))).toMatchObject({ id: null, error: { code: -32700 } })
      expect(passed_over).toHaveLength(1)
      expect(received).toEqual([PING])
    },
  )

  test('is passed over where it is too long, and what follows is read', async () => {
    const piece = 'x'.repeat(1024 * 1024)
    for (let sent = 0; sent <= STDIO_DEFAULT_MAX_BUFFER_SIZE; sent += piece.length) input.write(piece)
    input.write(`\n${line(PING)}`)
    await atRest()
    expect(passed_over).toHaveLength(1)
    expect(received).toEqual([PING])
    expect(ended).toBe(0)
  })

  test('ends with the pipe, once', async () => {
    input.end(JSON.stringify(PING))
    await atRest()
    expect(ended).toBe(1)
    expect(received).toEqual([])
    await expect(lines.send(PING)).rejects.toThrow('gone')
  })
})

describe('what goes out', () => {
  test('counts as written once the pipe has taken it', async () => {
    let take: (() => void) | null = null
    await begin(
      new Writable({
        write(_chunk, _encoding, done) {
          take = done
        },
      }),
    )
    const written: (string | number)[] = []
    lines.onwritten = (id) => written.push(id)
    const sending = lines.send({ jsonrpc: '2.0', id: 7, result: {} })
    await atRest()
    expect(written).toEqual([])
    take!()
    await sending
    expect(written).toEqual([7])
  })

  test('leaves in one write where it was said in one turn of the loop, and each answer is told of', async () => {
    const writes: string[] = []
    await begin(
      new Writable({
        write(chunk, _encoding, done) {
          writes.push(String(chunk))
          done()
        },
      }),
    )
    const written: (string | number)[] = []
    lines.onwritten = (id) => written.push(id)
    const answers = [1, 2, 3].map((id) => ({ jsonrpc: '2.0', id, result: {} }) as const)
    await Promise.all([lines.send(answers[0]!), Promise.resolve().then(() => lines.send(answers[1]!))])
    await lines.send(answers[2]!)
    expect(writes).toEqual([line(answers[0]!) + line(answers[1]!), line(answers[2]!)])
    expect(written).toEqual([1, 2, 3])
  })

  test('is no answer that was written for any of those that failed together', async () => {
    await begin(new Writable({ write: (_chunk, _encoding, done) => done(new Error('EPIPE')) }))
    const written: (string | number)[] = []
    lines.onwritten = (id) => written.push(id)
    const sending = [1, 2].map((id) => lines.send({ jsonrpc: '2.0', id, result: {} }))
    for (const answer of sending) await expect(answer).rejects.toThrow('EPIPE')
    expect(written).toEqual([])
  })

  test('is told of as written for answers only, a result apart from an error', async () => {
    const written: unknown[] = []
    lines.onwritten = (id, how) => written.push([id, how])
    await lines.send(PING)
    await lines.send({ jsonrpc: '2.0', method: 'notifications/tools/list_changed' })
    await lines.send({ jsonrpc: '2.0', id: 8, error: { code: -1, message: 'no' } })
    await lines.send({ jsonrpc: '2.0', id: 9, result: {} })
    expect(written).toEqual([
      [8, 'error'],
      [9, 'result'],
    ])
  })

  test('to a client that is gone is no answer that was written', async () => {
    const written: (string | number)[] = []
    await begin(
      new Writable({
        write(_chunk, _encoding, done) {
          done(new Error('EPIPE'))
        },
      }),
    )
    lines.onwritten = (id) => written.push(id)
    await expect(lines.send({ jsonrpc: '2.0', id: 9, result: {} })).rejects.toThrow('EPIPE')
    expect(written).toEqual([])
    await atRest()
    expect(ended).toBe(1)
  })
})

describe('the end of the input, where answers may linger', () => {
  const clock = fakeClock()
  const answer = (id: number) => lines.send({ jsonrpc: '2.0', id, result: {} })

  beforeEach(async () => {
    input = new PassThrough()
    lines = stdioLines(input, new PassThrough(), { linger: { clock, within_ms: 1_000 } })
    lines.onmessage = (message) => received.push(message)
    lines.onended = () => (ended += 1)
    await lines.start()
  })

  test('comes after the answers to all that was asked before, also in a line without a line break', async () => {
    input.end(line(PING) + JSON.stringify({ ...PING, id: 2 }))
    await atRest()
    expect([received.length, ended, lines.half_closed]).toEqual([2, 0, true])
    await answer(1)
    expect(ended).toBe(0)
    await answer(2)
    await atRest()
    expect(ended).toBe(1)
  })

  test('comes at once where everything is answered, and does not wait for a stream of changes', async () => {
    input.write(line(PING))
    await atRest()
    await answer(1)
    input.end(line({ ...PING, id: 2, method: 'subscriptions/listen' }))
    await atRest()
    expect(ended).toBe(1)
  })

  test('does not wait for what the client gave up, nor longer than the limit', async () => {
    input.write(line(PING) + line({ ...PING, id: 2 }))
    input.end(line({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1 } }))
    await atRest()
    expect(ended).toBe(0)
    await clock.advance(1_000)
    expect(ended).toBe(1)
  })
})
