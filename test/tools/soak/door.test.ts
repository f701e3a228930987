/** Counts the lost responses of the soak test's HTTP client. */
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, expect, test } from 'vitest'
import { AnswerLost, Door, type Break } from '../../soak/door.ts'

let server: http.Server | null = null
afterEach(() => {
  server?.closeAllConnections()
  server?.close()
})

async function doorTo(answer: (response: http.ServerResponse) => void): Promise<Door> {
  server = http.createServer((request, response) => request.resume().on('end', () => answer(response)))
  await new Promise<void>((listens) => server?.listen(0, '127.0.0.1', listens))
  const { port } = server.address() as AddressInfo
  return new Door(() => `http://127.0.0.1:${port}`)
}

const cutOff = (response: http.ServerResponse) =>
  response.writeHead(200, { 'content-length': '100' }).write('half', () => response.destroy())

test.each<[string, (response: http.ServerResponse) => void, Break]>([
  ['a server that dies before it answers', (response) => response.destroy(), null],
  ['a server that dies in its answer', cutOff, null],
  ['a caller that is gone before the answer', () => {}, { after_ms: 0 }],
  ['a caller that is gone in the answer', (response) => response.end('{}'), 'in the answer'],
])('one response is lost to %s', async (_, answer, breaks) => {
  const door = await doorTo(answer)
  await expect(door.post('/x', {}, { token: 't', breaks })).rejects.toThrow(AnswerLost)
  // All events of the broken connection precede a new connection.
  await expect(door.post('/x', {}, { token: 't', breaks })).rejects.toThrow(AnswerLost)
  expect(door.counts).toEqual({ asked: 2, lost: 2, refused: {} })
})
