import { expect, test } from 'vitest'
import type { Doorbell } from '../../src/contracts/doorbell.ts'
import type { ClientFrame, HubFrame, PendingEntry } from '../../src/contracts/frames.ts'
import type { Json } from '../../src/contracts/ids.ts'
import { createDaemon } from '../../src/daemon/runtime.ts'
import { silentLog } from '../../src/ports/log.ts'
import { createIds } from '../../src/system/random.ts'
import { fakeClock, seededRandom } from '../support/fakes/fake-clock.ts'
import { countedId, RULES } from '../support/worlds/machine-world.ts'
import { memoryLink, memorySockets } from '../support/fakes/memory-link.ts'

test('a daemon is connected and its queue is drained after a day of dropped links, outages and pushes', async () => {
  const clock = fakeClock()
  const random = seededRandom(7)
  let queue: PendingEntry[] = []
  let seq = 0
  const local = memorySockets()

  const link = memoryLink(clock, (frame: ClientFrame): HubFrame | null => {
    if (frame.type === 'ping') return { type: 'pong' }
    if (frame.type !== 'pending.peek') return null
    const signals = queue.slice(0, frame.limit ?? 1_000)
    return { type: 'pending', id: frame.id, signals, total: queue.length, as_of_seq: seq }
  })
  const daemon = createDaemon({
    tenant_id: 'local',
    identity: 'ada',
    surface: 'claude-code',
    rules: RULES,
    pid: 1,
    paths: { socket_dir: '/', control_socket: 'control', surface_socket: 'surface' },
    clock,
    random,
    ids: createIds(clock, random),
    link,
    sockets: local.sockets,
    startShim: null,
    state_file: null,
    restoreRunFiles: () => {},
    watchHub: null,
    writeMetrics: null,
    log: silentLog,
    onStopRequested: () => {},
    onBug(error) {
      throw error
    },
  })
  await daemon.start()

  const bells: Doorbell[] = []
  let turn_seq = 0
  const shim = local.connect('surface', (method, params) => {
    if (method === 'notify_surface') {
      bells.push(params['doorbell'] as unknown as Doorbell)
      clock.after(200, () => void turn(bells.at(-1)?.doorbell_id))
    }
    return { accepted: true, proof: 'sent' }
  })
  const report = (turn: 'idle' | 'busy', more: { [key: string]: Json } = {}) =>
    shim.request('status', {
      surface: 'claude-code',
      session_id: 's',
      delivery: 'push',
      turn,
      turn_seq,
      ...more,
    })
  /** Runs one turn of the agent, in which it drains if it can. */
  async function turn(seen_doorbell_id?: string): Promise<void> {
    turn_seq += 1
    await report('busy', seen_doorbell_id === undefined ? {} : { seen_doorbell_id })
    clock.after(2_000, () => {
      if (link.up() && queue.length > 0) {
        const signal_ids = queue.map(({ signal_id }) => signal_id)
        queue = []
        link.push({ type: 'signal.drained', signal_ids, session_id: 's', pending_count: 0 })
      }
      void report('idle')
    })
  }
  await report('idle')

  let armed_max = 0
  const minutes = 24 * 60
  for (let minute = 0; minute < minutes; minute += 1) {
    // The hub restarts now and then, and is down for a while every few hours.
    if (minute % 37 === 0) link.drop()
    link.reachable = minute % 190 > 12 || minute > minutes - 20
    if (!link.reachable) link.drop()
    if (minute % 11 === 0) {
      seq += 1
      const entry = { signal_id: countedId('S', seq), seq, from: 'bob', intent: 'task', priority: 3 }
      queue.push(entry)
      // Every fifth push is lost.
      if (seq % 5 !== 0) {
        link.push({ type: 'signal.pushed', to: 'ada', pending_count: queue.length, ...entry })
      }
    }
    await clock.advance(60_000)
    armed_max = Math.max(armed_max, clock.armed())
  }

  expect(daemon.status()).toMatchObject({ state: 'CONNECTED', pending_count: 0, delivery: 'ok' })
  expect(queue).toEqual([])
  expect(bells.length).toBeLessThanOrEqual(turn_seq + 1)
  expect(seq).toBeGreaterThan(100)
  expect(armed_max).toBeLessThan(12)
  await daemon.stop()
  // The link's reply to the final heartbeat is still under way.
  await clock.advance(1)
  expect(clock.armed()).toBe(0)
}, 60_000)
