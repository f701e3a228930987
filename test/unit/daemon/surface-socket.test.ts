/** Whose reports the daemon's machine hears, and whether they are those of another shim than before. */
import { expect, test } from 'vitest'
import { createSurfaceSocket } from '../../../src/daemon/surface-socket.ts'
import { silentLog } from '../../../src/ports/log.ts'
import type { RpcHandlers, RpcParams } from '../../../src/ports/rpc.ts'
import { fakeClock } from '../../support/fake-clock.ts'

const REPORT = { surface: 'mcp', session_id: 's', delivery: 'push', turn: 'idle', turn_seq: 7 } as const

function socketWorld() {
  const heard: [turn_seq: number, same_shim: boolean][] = []
  const socket = createSurfaceSocket(fakeClock(), silentLog, {
    onReport({ turn_seq }, same_shim, answer) {
      heard.push([turn_seq, same_shim])
      answer(null)
      return heard.length
    },
    onAbandoned() {},
    onLost() {},
  })
  const connect = () => socket.handlersFor({ request: () => new Promise(() => {}), close() {} })
  const report = (shim: RpcHandlers, change: RpcParams) => shim.onRequest('status', { ...REPORT, ...change })
  return { heard, connect, report }
}

test('a second shim of the session is another one, and so is the first once the second is gone', async () => {
  const { heard, connect, report } = socketWorld()
  const [first, second] = [connect(), connect()]
  await report(first, { turn_seq: 7 })
  await report(first, { turn_seq: 8 })
  await report(second, { turn_seq: 1_000_008 })
  await report(second, { turn_seq: 1_000_009 })
  second.onClose()
  expect(heard).toEqual([
    [7, false],
    [8, true],
    [1_000_008, false],
    [1_000_009, true],
    [8, false],
  ])
})

test('hooks count as one, though each has a connection of its own', async () => {
  const { heard, connect, report } = socketWorld()
  for (const turn_seq of [1, 2, 3]) await report(connect(), { turn_seq, delivery: 'pull' })
  expect(heard).toEqual([
    [1, false],
    [2, true],
    [3, true],
  ])
})
