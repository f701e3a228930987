import { expect, test } from 'vitest'
import { LIMITS } from '../../../../src/contracts/limits/limits.ts'
import { createEventReader, lastData } from '../../../../src/bridge/hub/event-stream.ts'

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

test('an event is passed on once it has ended, wherever the stream was split', () => {
  expect(read(STREAM).data).toEqual(DATA)
  expect(read(...STREAM.split('')).data).toEqual(DATA)
})

test('an event is passed on with its last byte, whichever line breaks it uses', () => {
  for (const end of ['\n\n', '\r\n\r\n', '\n\r\n', '\r\n\n'])
    expect(read('data: x', ...end.split('')).data).toEqual(['x'])
})

test('a single event over the limit is reported once, and several events may exceed it together', () => {
  const most = `data: ${'x'.repeat(LIMITS.bridge_answer_bytes_max / 2)}`
  expect(read(most, '\n\n', most, '\n\n', most, '\n\n')).toMatchObject({ too_large: 0, data: { length: 3 } })
  expect(read(most, most, most)).toEqual({ too_large: 1, data: [] })
})

test('the last data of a complete stream is found, also without a blank line at its end', () => {
  expect(lastData(STREAM)).toBe('unended')
  expect(lastData('data: one\n\ndata: two')).toBe('two')
  expect(lastData(': comment\n\n')).toBeUndefined()
})
