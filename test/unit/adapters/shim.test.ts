/** The shim's side of surface.sock, over a real socket. */
import path from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { attachShim, type Shim } from '../../../adapters/shim.ts'
import type { SurfaceStatus } from '../../../src/contracts/control.ts'
import { TurnbellError } from '../../../src/contracts/errors/errors.ts'
import type { Json } from '../../../src/contracts/ids.ts'
import { LIMITS } from '../../../src/contracts/limits/limits.ts'
import { silentLog } from '../../../src/ports/log.ts'
import type { RpcListener, RpcParams, RpcPeer } from '../../../src/ports/rpc.ts'
import { systemClock } from '../../../src/system/clock.ts'
import { connectLocally, localSockets } from '../../../src/system/ipc/unix-socket.ts'
import { doorbell } from '../../support/doorbells.ts'
import { eventually } from '../../support/eventually.ts'
import { atRest, fakeClock } from '../../support/fakes/fake-clock.ts'
import { temporaryHome } from '../../support/processes/processes.ts'

const STATUS: SurfaceStatus = {
  surface: 'command',
  session_id: 's1',
  delivery: 'push',
  turn: 'idle',
  turn_seq: 5,
}

let directory: string
let listener: RpcListener | null
let shim: Shim | null
let reports: RpcParams[]
let peers: RpcPeer[]
let answer: (params: RpcParams) => Json | Promise<Json>
let detached: number

beforeEach(() => {
  directory = temporaryHome()
  listener = null
  shim = null
  reports = []
  peers = []
  answer = () => ({ doorbell: null })
  detached = 0
})
afterEach(async () => {
  shim?.close()
  await listener?.close()
})

async function startDaemon(): Promise<void> {
  listener = await localSockets.listen({ directory, path: path.join(directory, 's.sock') }, (peer) => {
    peers.push(peer)
    return {
      onRequest(method, params) {
        if (method !== 'status') throw new Error(method)
        reports.push(params)
        return answer(params)
      },
      onClose: () => void (peers = peers.filter((other) => other !== peer)),
    }
  })
}

async function stopDaemon(): Promise<void> {
  await listener?.close()
  listener = null
}

function attach(rings: unknown[] = []): Shim {
  shim = attachShim({
    surface: {
      notify_surface: async (bell) => (rings.push(bell), { accepted: true, proof: 'sent' }),
      resume_surface: async () => {},
      status: async () => STATUS,
    },
    dial: (handlers) => connectLocally(path.join(directory, 's.sock'), handlers),
    clock: systemClock,
    log: silentLog,
    onDetached: () => void (detached += 1),
  })
  return shim
}

const attached = () => eventually('the shim has attached', () => peers[0])

test('a shim reports its status first on a connection', async () => {
  await startDaemon()
  attach()
  await attached()
  await eventually('it has reported', () => reports[0])
  expect(reports).toEqual([STATUS])
})

test('a shim redials a missing daemon and a restarted one', async () => {
  attach()
  await startDaemon()
  await attached()
  await eventually('it has reported', () => reports.length === 1)
  await stopDaemon()
  expect(detached).toBe(1)
  await startDaemon()
  await eventually('it has reported again', () => reports.length === 2)
  expect(reports[1]).toEqual(STATUS)
})

describe('a report', () => {
  test('a report without a daemon resolves without a doorbell', async () => {
    expect(await attach().report({ ...STATUS, take: true })).toEqual({ doorbell: null })
  })

  test('a report returns the doorbell of its answer', async () => {
    const bell = doorbell()
    answer = (params) => ({ doorbell: params['take'] === true ? bell : null })
    await startDaemon()
    const shim = attach()
    await eventually('it has reported', () => reports[0])
    expect(await shim.report({ ...STATUS, take: true })).toEqual({ doorbell: bell })
    expect(await shim.report(STATUS)).toEqual({ doorbell: null })
  })

  test.each([[{ doorbell: { text: 'ring!' } }], [{}], ['ok'], [null]])(
    'a report with an invalid answer (%j) returns no doorbell',
    async (nonsense) => {
      await startDaemon()
      const shim = attach()
      await eventually('it has reported', () => reports[0])
      answer = () => nonsense
      expect(await shim.report({ ...STATUS, take: true })).toEqual({ doorbell: null })
    },
  )

  test('a report rejected with limit_reached is repeated with the current status', async () => {
    const clock = fakeClock()
    const sent: RpcParams[] = []
    let busy = 2
    let now = STATUS
    const peer: RpcPeer = {
      async request(_method, params) {
        sent.push(params)
        if (sent.length > 1 && busy-- > 0) throw new TurnbellError('limit_reached', { detail: 'too many' })
        return { doorbell: null }
      },
      close() {},
    }
    const busy_shim = attachShim({
      surface: {
        notify_surface: async () => ({ accepted: true, proof: 'sent' }),
        resume_surface: async () => {},
        status: async () => now,
      },
      dial: async () => peer,
      clock,
      log: silentLog,
    })
    await atRest()
    await busy_shim.report({ ...STATUS, turn: 'busy', take: true })
    now = { ...STATUS, turn_seq: 6 }
    await clock.advance(10 * LIMITS.shim_reconnect_max_ms)
    expect(sent.slice(1)).toEqual([{ ...STATUS, turn: 'busy', take: true }, now, now])
    expect(clock.armed()).toBe(0)
  })

  test('a report interrupted by a lost daemon returns no doorbell', async () => {
    await startDaemon()
    const shim = attach()
    await eventually('it has reported', () => reports[0])
    answer = () => new Promise<Json>(() => {})
    const answered = shim.report({ ...STATUS, take: true })
    await eventually('the daemon has it', () => reports.length === 2)
    await stopDaemon()
    expect(await answered).toEqual({ doorbell: null })
  })
})

describe('the daemon may request', () => {
  test('a ring, the status and a new binding', async () => {
    const rings: unknown[] = []
    await startDaemon()
    attach(rings)
    const peer = await attached()
    const bell = doorbell()
    expect(await peer.request('notify_surface', { doorbell: bell }, 1_000)).toEqual({
      accepted: true,
      proof: 'sent',
    })
    expect(rings).toEqual([bell])
    expect(await peer.request('status', {}, 1_000)).toEqual(STATUS)
    expect(await peer.request('resume_surface', {}, 1_000)).toEqual({})
  })

  test.each([
    ['notify_surface', {}, 'params_invalid'],
    ['notify_surface', { doorbell: null }, 'params_invalid'],
    ['notify_surface', { doorbell: { ...doorbell(), body: 'what the signal says' } }, 'params_invalid'],
    ['notify_surface', { doorbell: { ...doorbell(), text: 'x'.repeat(201) } }, 'params_invalid'],
    ['drain', {}, 'unknown_verb'],
    ['shutdown', {}, 'unknown_verb'],
  ] as const)('nothing else: %s %j is %s', async (method, params, code) => {
    const rings: unknown[] = []
    await startDaemon()
    attach(rings)
    const peer = await attached()
    await expect(peer.request(method, params as RpcParams, 1_000)).rejects.toMatchObject({ code })
    expect(rings).toEqual([])
  })
})

describe('a daemon that closes the connection', () => {
  /** Counts the dials to a daemon that closes at once, before or after answering the report. */
  async function dialsIn(ms: number, answers: boolean): Promise<number> {
    const clock = fakeClock()
    let dials = 0
    shim = attachShim({
      surface: {
        notify_surface: async () => ({ accepted: true, proof: 'sent' }),
        resume_surface: async () => {},
        status: async () => STATUS,
      },
      dial: async (handlers) => {
        dials += 1
        return {
          async request() {
            clock.after(0, () => handlers.onClose())
            if (answers) return { doorbell: null }
            throw new TurnbellError('limit_reached', { detail: '32 programs are connected' })
          },
          close() {},
        }
      },
      clock,
      log: silentLog,
    })
    await atRest()
    await clock.advance(ms)
    return dials
  }

  test('a daemon that closes before the answer is dialled with backoff', async () => {
    const slowest = 60_000 / LIMITS.shim_reconnect_max_ms
    expect(await dialsIn(60_000, false)).toBeLessThan(slowest + 10)
  })

  test('a daemon that closes after the answer is dialled soon again', async () => {
    expect(await dialsIn(10 * LIMITS.shim_reconnect_min_ms, true)).toBeGreaterThan(8)
  })
})

test('a closed shim does not dial', async () => {
  await startDaemon()
  attach().close()
  await stopDaemon()
  expect(detached).toBe(0)
})
