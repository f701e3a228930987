/** Tests the bridge's end of a client's pipe. */
import { PassThrough, Writable } from 'node:stream'
import { beforeEach, describe, expect, test } from 'vitest'
import { type JSONRPCMessage, STDIO_DEFAULT_MAX_BUFFER_SIZE } from '@modelcontextprotocol/server'
import { StdioLines } from '../../../../src/bridge/stdio/stdio-lines.ts'
import { atRest, fakeClock } from '../../../support/fakes/fake-clock.ts'

const PING = { jsonrpc: '2.0', id: 1, method: 'ping' } as const
const line = (message: object) => `${JSON.stringify(message)}\n`

let input: PassThrough
let received: JSONRPCMessage[]
let passed_over: string[]
let output: PassThrough
let ended: number
let lines: StdioLines

async function begin(to: Writable = output): Promise<void> {
  lines = new StdioLines(input, to)
  lines.onmessage = (message) => received.push(message)
  lines.oninvalid = (why) => passed_over.push(why)
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

describe('input', () => {
  test('input is split into lines, whatever the chunks', async () => {
    const text = line(PING) + line({ ...PING, id: 2, params: { text: 'ünïcödé …' } })
    for (const byte of Buffer.from(text)) input.write(Buffer.from([byte]))
    await atRest()
    expect(received).toHaveLength(2)
    expect(received[1]).toMatchObject({ id: 2, params: { text: 'ünïcödé …' } })
  })

  test('input is passed to the callbacks before the SDK', async () => {
    const order: string[] = []
    lines.onreceived = () => order.push('heard')
    lines.onmessage = () => order.push('taken')
    input.write(line(PING))
    await atRest()
    expect(order).toEqual(['heard', 'taken'])
  })

  test.each(['{}', '"x"', '{"jsonrpc":"2.0","id":1,"result":7}'])(
    'input that is not a message is skipped: %s',
    async (garbage) => {
      input.write(`${garbage}\n\n${line(PING)}`)
      await atRest()
      expect(passed_over).toHaveLength(1)
      expect(received).toHaveLength(1)
    },
  )

  test.each(['not json', '{"jsonrpc":"2.0","id":1,', '{} {}'])(
    'input that is not JSON is answered with the id null: %s',
    async (garbage) => {
      input.write(`${garbage}\n${line(PING)}`)
      await atRest()
      expect(JSON.parse(String(output.read()))).toMatchObject({ id: null, error: { code: -32700 } })
      expect(passed_over).toHaveLength(1)
      expect(received).toEqual([PING])
    },
  )

  test('a line that is too long is skipped, and the next one is read', async () => {
    const piece = 'x'.repeat(1024 * 1024)
    for (let sent = 0; sent <= STDIO_DEFAULT_MAX_BUFFER_SIZE; sent += piece.length) input.write(piece)
    input.write(`\n${line(PING)}`)
    await atRest()
    expect(passed_over).toHaveLength(1)
    expect(received).toEqual([PING])
    expect(ended).toBe(0)
  })

  test('the input ends with the pipe, once', async () => {
    input.end(JSON.stringify(PING))
    await atRest()
    expect(ended).toBe(1)
    expect(received).toEqual([])
    await expect(lines.send(PING)).rejects.toThrow('gone')
  })
})

describe('output', () => {
  test('an answer counts as written once the pipe has accepted it', async () => {
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

  test('an answer counts as written only after earlier input was handled', async () => {
    const heard: string[] = []
    lines.onwritten = () => heard.push('written')
    lines.onreceived = () => heard.push('cancelled')
    const sending = lines.send({ jsonrpc: '2.0', id: 7, result: {} })
    // The response is in the pipe in the next tick; this is read in the following turn.
    process.nextTick(() =>
      setImmediate(() =>
        input.write(line({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 7 } })),
      ),
    )
    await sending
    expect(heard).toEqual(['cancelled', 'written'])
  })

  test('answers of one tick of the event loop are written together, and each is reported', async () => {
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

  test('answers that failed together are not reported as written', async () => {
    await begin(new Writable({ write: (_chunk, _encoding, done) => done(new Error('EPIPE')) }))
    const written: (string | number)[] = []
    lines.onwritten = (id) => written.push(id)
    const sending = [1, 2].map((id) => lines.send({ jsonrpc: '2.0', id, result: {} }))
    for (const answer of sending) await expect(answer).rejects.toThrow('EPIPE')
    expect(written).toEqual([])
  })

  test('only answers are reported as written, with results apart from errors', async () => {
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

  test('an answer to a client that is gone is not reported as written', async () => {
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

describe('the end of the input with a linger time', () => {
  const clock = fakeClock()
  const answer = (id: number) => lines.send({ jsonrpc: '2.0', id, result: {} })

  beforeEach(async () => {
    input = new PassThrough()
    lines = new StdioLines(input, new PassThrough(), { linger: { clock, within_ms: 1_000 } })
    lines.onmessage = (message) => received.push(message)
    lines.onended = () => (ended += 1)
    await lines.start()
  })

  test('the connection ends after the answers to all earlier requests, also of a line without a line break', async () => {
    input.end(line(PING) + JSON.stringify({ ...PING, id: 2 }))
    await atRest()
    expect([received.length, ended, lines.half_closed]).toEqual([2, 0, true])
    await answer(1)
    expect(ended).toBe(0)
    await answer(2)
    await atRest()
    expect(ended).toBe(1)
  })

  test('the connection ends at once if everything is answered, without waiting for a change stream', async () => {
    input.write(line(PING))
    await atRest()
    await answer(1)
    input.end(line({ ...PING, id: 2, method: 'subscriptions/listen' }))
    await atRest()
    expect(ended).toBe(1)
  })

  test('the connection does not wait for cancelled requests or beyond the limit', async () => {
    input.write(line(PING) + line({ ...PING, id: 2 }))
    input.end(line({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1 } }))
    await atRest()
    expect(ended).toBe(0)
    await clock.advance(1_000)
    expect(ended).toBe(1)
  })
})
