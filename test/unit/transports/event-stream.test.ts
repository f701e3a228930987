/** Tests that a stream whose client has stopped reading ends before its buffer fills the memory. */
import { EventEmitter } from 'node:events'
import type { ServerResponse } from 'node:http'
import { expect, test } from 'vitest'
import { LIMITS } from '../../../src/contracts/limits/limits.ts'
import { cutWhenStalled } from '../../../src/transports/mcp/event-stream.ts'
import { fakeClock } from '../../support/fakes/fake-clock.ts'

class Stream extends EventEmitter {
  writableNeedDrain = false
  destroyed = false
  socket = new EventEmitter()
  req = { socket: this.socket }
  destroy(): void {
    this.destroyed = true
    this.emit('close')
  }
}

function watched() {
  const clock = fakeClock()
  const stream = new Stream()
  cutWhenStalled(stream as unknown as ServerResponse, { clock })
  return { clock, stream }
}

/** Long enough for several checks. */
const LONG_MS = LIMITS.sse_silence_max_ms + 2 * LIMITS.sse_heartbeat_ms

test('a stream that is not read is closed, and its timers end', async () => {
  const { clock, stream } = watched()
  stream.writableNeedDrain = true
  await clock.advance(LIMITS.sse_silence_max_ms)
  expect(stream.destroyed).toBe(false)
  await clock.advance(LONG_MS)
  expect([stream.destroyed, clock.armed()]).toEqual([true, 0])
})

test('a stream that is read slowly stays open', async () => {
  const { clock, stream } = watched()
  stream.writableNeedDrain = true
  for (let time = 0; time < 10; time += 1) {
    await clock.advance(LIMITS.sse_silence_max_ms - LIMITS.sse_heartbeat_ms)
    stream.emit('drain')
  }
  expect(stream.destroyed).toBe(false)
})

test('a stream without events stays open', async () => {
  const { clock, stream } = watched()
  await clock.advance(LONG_MS)
  expect(stream.destroyed).toBe(false)
})
