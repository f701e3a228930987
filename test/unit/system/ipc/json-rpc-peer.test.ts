import { duplexPair } from 'node:stream'
import { describe, expect, test } from 'vitest'
import { TurnbellError } from '../../../../src/contracts/errors/errors.ts'
import type { Json } from '../../../../src/contracts/ids.ts'
import { LIMITS } from '../../../../src/contracts/limits/limits.ts'
import type { RpcHandlers, RpcParams } from '../../../../src/ports/rpc.ts'
import { createRpcPeer } from '../../../../src/system/ipc/json-rpc-peer.ts'
import { atRest, fakeClock } from '../../../support/fakes/fake-clock.ts'

function pair(answer: (method: string, params: RpcParams) => Json | Promise<Json> = () => null) {
  const clock = fakeClock()
  const [here, there] = duplexPair()
  const seen = { bugs: [] as unknown[], closed: [] as string[] }
  const handlers = (name: string): RpcHandlers => ({
    onRequest: answer,
    onClose: () => seen.closed.push(name),
    onBug: (error) => seen.bugs.push(error),
  })
  const asker = createRpcPeer(here, () => handlers('asker'), clock)
  const answerer = createRpcPeer(there, () => handlers('answerer'), clock)
  return { asker, answerer, clock, here, there, seen }
}

describe('two peers', () => {
  test('both peers send requests over one stream', async () => {
    const { asker, answerer } = pair((method, params) => ({ method, ...params }))
    await expect(asker.request('one', { n: 1 }, 1_000)).resolves.toEqual({ method: 'one', n: 1 })
    await expect(answerer.request('two', { n: 2 }, 1_000)).resolves.toEqual({ method: 'two', n: 2 })
  })

  test('a deeply nested line is rejected, and the connection continues', async () => {
    const { asker, here } = pair(() => 'still here')
    here.write(
      `{"jsonrpc":"2.0","id":1,"method":"x","params":{"a":${'['.repeat(20_000)}${']'.repeat(20_000)}}}\n`,
    )
    await atRest()
    await expect(asker.request('x', {}, 1_000)).resolves.toBe('still here')
  })

  test('an error is received with its code and hint', async () => {
    const { asker, seen } = pair(() => {
      throw new TurnbellError('identity_mismatch', { detail: 'not yours', hint: 'ask elsewhere' })
    })
    await expect(asker.request('x', {}, 1_000)).rejects.toMatchObject({
      code: 'identity_mismatch',
      detail: 'not yours',
      hint: 'ask elsewhere',
    })
    expect(seen.bugs).toEqual([])
  })

  test('a bug is answered as internal, without its message, and logged', async () => {
    const { asker, seen } = pair(() => Promise.reject(new Error('secret')))
    await expect(asker.request('x', {}, 1_000)).rejects.toMatchObject({ code: 'internal' })
    await expect(asker.request('x', {}, 1_000)).rejects.not.toThrow(/secret/)
    expect(seen.bugs).toHaveLength(2)
  })

  test('an unanswered request times out, and its late response is ignored', async () => {
    let answerNow: (value: Json) => void = () => {}
    const { asker, clock } = pair(() => new Promise<Json>((resolve) => (answerNow = resolve)))
    const asked = asker.request('x', {}, 1_000)
    const refused = expect(asked).rejects.toMatchObject({ code: 'timed_out' })
    await clock.advance(1_000)
    await refused
    answerNow('late')
    await atRest()
  })

  test('open requests are rejected when the stream ends, and the end is reported once', async () => {
    const { asker, there, seen } = pair(() => new Promise<Json>(() => {}))
    const asked = asker.request('x', {}, 60_000)
    const refused = expect(asked).rejects.toMatchObject({ code: 'daemon_unreachable' })
    await atRest()
    there.end()
    await refused
    await atRest()
    expect(seen.closed.sort()).toEqual(['answerer', 'asker'])
    await expect(asker.request('y', {}, 1_000)).rejects.toMatchObject({ code: 'daemon_unreachable' })
  })

  test('pending responses are written before a peer closes, and its own end is not reported', async () => {
    const { asker, answerer, seen } = pair(() => 'the answer')
    const asked = asker.request('x', {}, 1_000)
    await atRest()
    answerer.close()
    answerer.close()
    await expect(asked).resolves.toBe('the answer')
    await atRest()
    expect(seen.closed).toEqual(['asker'])
  })

  test('the end of a connection that was closed for a line without an end is reported', async () => {
    const { here, clock, seen } = pair()
    here.write('x'.repeat(LIMITS.line_bytes_max + 1))
    await atRest()
    await clock.advance(LIMITS.rpc_close_grace_ms)
    await atRest()
    expect(seen.closed.sort()).toEqual(['answerer', 'asker'])
  })

  test('a peer that does not read the last response is disconnected', async () => {
    const { answerer, clock, there } = pair()
    answerer.close()
    await clock.advance(LIMITS.rpc_close_grace_ms)
    expect(there.destroyed).toBe(true)
    expect(clock.armed()).toBe(0)
  })

  test('what waits for a response continues before a later message of the same chunk is handled', async () => {
    const order: string[] = []
    const { asker, there } = pair((method) => {
      order.push(method)
      return null
    })
    there.removeAllListeners('data')
    const asked = asker.request('status', {}, 1_000).then(async () => {
      await Promise.resolve()
      order.push('response')
    })
    there.write(
      '{"jsonrpc":"2.0","id":1,"result":"idle"}\n{"jsonrpc":"2.0","id":7,"method":"busy","params":{}}\n',
    )
    await asked
    await atRest()
    expect(order).toEqual(['response', 'busy'])
  })

  test('messages before the end of the stream are handled', async () => {
    const order: string[] = []
    const { asker, there } = pair((method) => {
      order.push(method)
      return null
    })
    there.removeAllListeners('data')
    const asked = asker.request('status', {}, 1_000).then(() => order.push('response'))
    there.end(
      '{"jsonrpc":"2.0","id":1,"result":"idle"}\n{"jsonrpc":"2.0","id":7,"method":"last","params":{}}\n',
    )
    there.destroy()
    await asked
    await atRest()
    expect(order).toEqual(['response', 'last'])
  })

  test('the number of unanswered requests is bounded', async () => {
    const { asker } = pair(() => new Promise<Json>(() => {}))
    const asked = Array.from({ length: LIMITS.rpc_in_flight_max }, () => asker.request('x', {}, 60_000))
    for (const open of asked) open.catch(() => {})
    await expect(asker.request('one more', {}, 60_000)).rejects.toMatchObject({ code: 'limit_reached' })
  })

  test('responses without a request are ignored', async () => {
    const { here, asker } = pair(() => 'fine')
    here.write(
      '{"jsonrpc":"2.0","id":99,"result":1}\n{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":""}}\n',
    )
    await expect(asker.request('x', {}, 1_000)).resolves.toBe('fine')
  })

  const answersTo = async (line: string): Promise<unknown[]> => {
    const { here, answerer } = pair((method, params) => ({ method, params }))
    let heard = ''
    here.removeAllListeners('data').on('data', (chunk: Buffer) => (heard += chunk.toString('utf8')))
    here.write(`${line}\n`)
    await atRest()
    answerer.close()
    return heard.split('\n').filter(Boolean)
  }

  test.each(['1764391000123456789', '1.5', '-9007199254740993', '1e400', '"a"', '0', 'null'])(
    'a request is answered under exactly its id: %s',
    async (id) => {
      for (const params of ['', ',"params":null', ',"params":[]', ',"params":{}'])
        expect(await answersTo(`{"jsonrpc":"2.0","id":${id},"method":"x"${params}}`)).toEqual([
          `{"jsonrpc":"2.0","id":${id},"result":{"method":"x","params":{}}}`,
        ])
      const [refusal] = await answersTo(`{"jsonrpc":"2.0","params":{"id":7},"id":${id},"method":8}`)
      expect(refusal).toContain(`"id":${id},"error":{"code":-32600`)
    },
  )

  test('each request of a batch is rejected under its id', async () => {
    const told = await answersTo('[{"jsonrpc":"2.0","id":1,"method":"x"},{"id":1764391000123456789},7]')
    const [first, second, third, ...more] = told
    expect(more).toEqual([])
    expect(first).toContain('"id":1,"error":{"code":-32600')
    expect(second).toContain('"id":1764391000123456789,"error"')
    expect(third).toContain('"id":null,"error"')
    expect(await answersTo('[]')).toEqual([expect.stringContaining('"id":null,"error":{"code":-32600')])
  })

  test('a message is parsed whatever chunks it arrives in', async () => {
    const { here, there } = pair((_, params) => params['text'] ?? null)
    let heard = ''
    here.on('data', (chunk: Buffer) => (heard += chunk.toString('utf8')))
    const line = Buffer.from(
      `${JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'x', params: { text: 'Grüße 🔔' } })}\n`,
    )
    for (const byte of line) here.write(Uint8Array.of(byte))
    await atRest()
    await atRest()
    expect(heard).toContain('Grüße 🔔')
    there.destroy()
  })
})
