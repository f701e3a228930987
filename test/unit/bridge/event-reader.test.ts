import { expect, test } from 'vitest'
import { LIMITS } from '../../../src/contracts/limits.ts'
import { createEventReader } from '../../../src/transports/bridge/event-reader.ts'

function read(...pieces: string[]): { data: string[]; too_large: number } {
  const found = { data: [] as string[], too_large: 0 }
  const reader = createEventReader({
    onData: (data) => void found.data.push(data),
    onTooLarge: () => void (found.too_large += 1),
  })
  for (const piece of pieces) reader.read(piece)
  return found
}

const STREAM =
  ': hello\n\ndata: one\r\n\r\nid: 7\ndata: two\ndata:  lines\n\r\ndata: three\r\n\n\n\ndata: unended\n'
const DATA = ['one', 'two\n lines', 'three']

test('an event is told once it has ended, wherever the pieces of a stream are cut', () => {
  expect(read(STREAM).data).toEqual(DATA)
  expect(read(...STREAM.split('')).data).toEqual(DATA)
  for (let at = 1; at < STREAM.length; at += 1)
    expect(read(STREAM.slice(0, at), STREAM.slice(at)).data, `cut at ${at}`).toEqual(DATA)
})

test('an event is told with its last byte, and not with what comes next', () => {
  for (const end of ['\n\n', '\r\n\r\n', '\n\r\n', '\r\n\n'])
    expect(read('data: x', ...end.split('')).data).toEqual(['x'])
})

test('one event may be as long as an answer, and all of them together longer', () => {
  const most = `data: ${'x'.repeat(LIMITS.bridge_answer_bytes_max / 2)}`
  expect(read(most, '\n\n', most, '\n\n', most, '\n\n')).toMatchObject({ too_large: 0, data: { length: 3 } })
  expect(read(most, most)).toEqual({ too_large: 1, data: [] })
})
