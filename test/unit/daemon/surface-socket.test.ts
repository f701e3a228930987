/** Tests whose reports reach the daemon's machine, and whether they count as those of another shim. */
import { expect, test } from 'vitest'
import { createSurfaceSocket } from '../../../src/daemon/surface-socket.ts'
import type { Json } from '../../../src/contracts/ids.ts'
import { silentLog } from '../../../src/ports/log.ts'
import type { RpcHandlers, RpcParams } from '../../../src/ports/rpc.ts'
import { atRest, fakeClock } from '../../support/fakes/fake-clock.ts'

const REPORT = { surface: 'mcp', session_id: 's', delivery: 'push', turn: 'idle', turn_seq: 7 } as const

function socketWorld() {
  /** Turn number, whether it is the same shim, and the turn state unless it is idle. */
  const heard: (number | boolean | string)[][] = []
  const socket = createSurfaceSocket(fakeClock(), silentLog, {
    onReport({ turn, turn_seq }, same_shim, answer) {
      heard.push([turn_seq, same_shim, ...(turn === 'idle' ? [] : [turn])])
      answer(null)
      return heard.length
    },
    onAbandoned() {},
    onLost() {},
  })
  const connect = (status?: RpcParams) => {
    const answer = status === undefined ? new Promise<never>(() => {}) : Promise.resolve(status as Json)
    return socket.handlersFor({ request: () => answer, close() {} })
  }
  const report = (shim: RpcHandlers, change: RpcParams) => shim.onRequest('status', { ...REPORT, ...change })
  return { heard, connect, report }
}

test('a second shim of the session is another shim, and so is the first once the second is gone', async () => {
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
    // Its last report may be long outdated.
    [8, false, 'unknown'],
  ])
})

test('a shim that becomes active again is asked for its turn, and its earlier status is ignored', async () => {
  const { heard, connect, report } = socketWorld()
  const [first, second] = [connect({ ...REPORT, turn: 'busy', turn_seq: 9 }), connect()]
  await report(first, { turn_seq: 8 })
  await report(second, { turn: 'busy', turn_seq: 1_000_009 })
  second.onClose()
  await atRest()
  expect(heard.slice(2)).toEqual([
    [8, false, 'unknown'],
    [9, true, 'busy'],
  ])
})

test('hooks count as one shim, though each has its own connection', async () => {
  const { heard, connect, report } = socketWorld()
  for (const turn_seq of [1, 2, 3]) await report(connect(), { turn_seq, delivery: 'pull' })
  expect(heard).toEqual([
    [1, false],
    [2, true],
    [3, true],
  ])
})
