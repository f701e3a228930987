import { describe, expect, test } from 'vitest'
import { LIMITS } from '../../../src/contracts/limits/limits.ts'
import type { DaemonEvent } from '../../../src/daemon/events.ts'
import { daemonMachine } from '../../../src/daemon/machine.ts'
import { machineWorld, readyWorld, type MachineWorld } from '../../support/worlds/machine-world.ts'

const STATES = ['DISCONNECTED', 'RECONCILING', 'CONNECTED', 'EMITTING'] as const
type State = (typeof STATES)[number]

/** Returns a world in this state, with the hub's responses delayed. */
function worldIn(state: State): MachineWorld {
  const world = machineWorld()
  if (state === 'DISCONNECTED') {
    world.pass(0)
    world.hubAnswers = false
    return world
  }
  world.hubAnswers = state === 'CONNECTED' || state === 'EMITTING'
  world.connects()
  if (state === 'RECONCILING') return world
  world.reports()
  world.hubAnswers = false
  if (state === 'EMITTING') world.pushes()
  return world
}

type News = DaemonEvent extends infer E ? (E extends unknown ? Omit<E, 'now'> : never) : never
const entry = { signal_id: '01S00000000000000000000099', seq: 99, from: 'bob', intent: 'x', priority: 3 }
const idle = { surface: 'mcp', session_id: 's', delivery: 'push', turn: 'idle', turn_seq: 0 } as const
const list = { signals: [], total: 0, as_of_seq: 0, doorbell_id: '01B00000000000000000000001' }
const NEWS: Record<DaemonEvent['type'], News> = {
  LINK_UP: { type: 'LINK_UP' },
  HUB_BACK: { type: 'HUB_BACK', random: 0 },
  LINK_LOST: { type: 'LINK_LOST', error_class: 'ws_connect_failed', detail: '', random: 0 },
  PENDING_LISTED: { type: 'PENDING_LISTED', peek_id: 'another', ...list },
  PEEK_REFUSED: { type: 'PEEK_REFUSED', peek_id: 'another', detail: '', random: 0 },
  SIGNAL_PUSHED: { type: 'SIGNAL_PUSHED', entry, total: 1 },
  SIGNALS_DRAINED: { type: 'SIGNALS_DRAINED', signal_ids: [], session_id: 's', total: 0 },
  SIGNALS_RELEASED: { type: 'SIGNALS_RELEASED', signal_ids: [], total: 1 },
  SIGNALS_GONE: { type: 'SIGNALS_GONE', signal_ids: [], total: 0 },
  SURFACE_REPORTED: { type: 'SURFACE_REPORTED', report: idle, same_shim: true, request: 900 },
  SURFACE_LOST: { type: 'SURFACE_LOST' },
  REPORT_ABANDONED: { type: 'REPORT_ABANDONED', request: 900 },
  BELL_ANSWERED: { type: 'BELL_ANSWERED', doorbell_id: 'x', signal_id: 'y', accepted: true, proof: 'sent' },
  NOTIFY_REQUESTED: { type: 'NOTIFY_REQUESTED', request: 901 },
  SURFACE_PROBED: { type: 'SURFACE_PROBED', probe_id: 'another', holds: true },
  RESUME_REQUESTED: { type: 'RESUME_REQUESTED' },
  TIME_PASSED: { type: 'TIME_PASSED', random: 0 },
}

/** Next state for each event; events not listed do not change the state. */
const MOVES: Record<State, Partial<Record<DaemonEvent['type'], State>>> = {
  DISCONNECTED: { LINK_UP: 'RECONCILING' },
  RECONCILING: { LINK_LOST: 'DISCONNECTED' },
  // A push or a release at an idle surface starts a doorbell.
  CONNECTED: { LINK_LOST: 'DISCONNECTED', SIGNAL_PUSHED: 'EMITTING', SIGNALS_RELEASED: 'EMITTING' },
  EMITTING: { LINK_LOST: 'DISCONNECTED' },
}

describe('the event HUB_BACK', () => {
  test('HUB_BACK ends the backoff: the next attempt is due within reconnect_spread_ms', () => {
    const world = machineWorld()
    for (let failure = 0; failure < 8; failure += 1) {
      world.pass(LIMITS.reconnect_max_ms)
      world.tell({ type: 'LINK_LOST', error_class: 'ws_connect_failed', detail: '', random: 0.99 })
    }
    expect(world.deadline! - world.now).toBeGreaterThan(2_000)
    world.tell({ type: 'HUB_BACK', random: 0.5 })
    expect(world.deadline! - world.now).toBe(LIMITS.reconnect_spread_ms / 2)
    world.pass(LIMITS.reconnect_spread_ms)
    world.tell({ type: 'LINK_LOST', error_class: 'ws_connect_failed', detail: '', random: 0.99 })
    expect(world.deadline! - world.now).toBeLessThan(1_000)
  })

  test('HUB_BACK does not cancel a running attempt', () => {
    const world = machineWorld()
    world.pass(0)
    world.tell({ type: 'HUB_BACK', random: 0 })
    expect(world.context.link.retry_at).toBeNull()
  })
})

describe('the machine', () => {
  test('the machine has exactly the four states', () => {
    expect(Object.keys(daemonMachine.states)).toEqual(STATES)
  })

  for (const state of STATES) {
    for (const [type, news] of Object.entries(NEWS)) {
      const to = MOVES[state][type as DaemonEvent['type']] ?? state
      test(`in ${state}, ${type} leads to ${to}`, () => {
        const world = worldIn(state)
        expect(world.state).toBe(state)
        world.tell(news)
        expect(world.state).toBe(to)
      })
    }
  }

  test('the machine has no edge from DISCONNECTED to CONNECTED or EMITTING', () => {
    const targets = new Set<string>()
    const { DISCONNECTED } = daemonMachine.states
    for (const transitions of DISCONNECTED?.transitions.values() ?? []) {
      for (const { target } of transitions) for (const node of target ?? []) targets.add(node.key)
    }
    expect([...targets]).toEqual(['RECONCILING'])
    expect(DISCONNECTED?.always ?? []).toEqual([])
  })
})

describe('connecting', () => {
  test('the first attempt is immediate, later ones have full jitter between half a second and thirty', () => {
    const world = machineWorld()
    expect(world.deadline).toBe(0)
    expect(world.tell({ type: 'TIME_PASSED', random: 0 })).toEqual([{ type: 'connect', params: undefined }])
    const delays = (random: number) =>
      Array.from({ length: 9 }, () => {
        world.tell({ type: 'LINK_LOST', error_class: 'ws_connect_failed', detail: '', random })
        const delay = (world.context.link.retry_at ?? 0) - world.now
        world.pass(delay)
        return delay
      })
    expect(delays(0)).toEqual(Array(9).fill(500))
    const longest = delays(0.999_999)
    expect(Math.max(...longest)).toBe(30_000)
  })

  test('the delays start over only after the queue was reconciled', () => {
    const world = machineWorld()
    world.hubAnswers = false
    for (let n = 0; n < 4; n += 1) {
      world.connects()
      world.linkLost()
    }
    expect(world.context.link.failures).toBe(4)
    world.hubAnswers = true
    world.connects()
    expect(world.context.link.failures).toBe(0)
  })

  test('every failed attempt is counted, but metrics are published at once only when a working link is lost', () => {
    const world = readyWorld()
    const publishes = () => world.effects.filter(({ type }) => type === 'publishMetrics').length
    world.linkLost()
    expect(publishes()).toBe(1)
    world.pass(30_000)
    world.linkLost()
    expect(publishes()).toBe(1)
    expect(world.errors).toEqual(['ws_stream_stalled', 'ws_stream_stalled'])
  })
})

describe('reconciling', () => {
  test('reconciling requests as many signals as the index holds, before anything can ring', () => {
    const world = machineWorld()
    world.hubAnswers = false
    world.reports()
    world.connects()
    expect(world.effects).toContainEqual({
      type: 'peek',
      params: { peek_id: 'reconcile-1', limit: LIMITS.pending_index_max },
    })
    world.pushes()
    world.turnBegins()
    world.turnEnds()
    expect(world.state).toBe('RECONCILING')
    expect(world.bells).toEqual([])
  })

  test('a list that is late or refused is pending_reconcile_failed and restarts the connection', () => {
    const slow = worldIn('RECONCILING')
    slow.pass(LIMITS.reconcile_timeout_ms)
    const refused = worldIn('RECONCILING')
    refused.tell({ type: 'PEEK_REFUSED', peek_id: 'reconcile-1', detail: 'store_unavailable', random: 0 })
    for (const world of [slow, refused]) {
      expect(world.state).toBe('DISCONNECTED')
      expect(world.errors).toContain('pending_reconcile_failed')
      expect(world.effects).toContainEqual({ type: 'closeLink', params: undefined })
      expect(world.deadline).not.toBeNull()
    }
  })

  test('the response to an earlier peek is not taken for the list', () => {
    const world = worldIn('RECONCILING')
    world.linkLost()
    world.connects()
    world.tell({ type: 'PENDING_LISTED', peek_id: 'reconcile-1', ...list })
    expect(world.state).toBe('RECONCILING')
  })

  test('the list overrides pushes that are not newer than it', () => {
    const world = worldIn('RECONCILING')
    world.tell({ type: 'SIGNAL_PUSHED', entry: { ...entry, seq: 7 }, total: 1 })
    world.tell({ type: 'PENDING_LISTED', peek_id: 'reconcile-1', ...list, as_of_seq: 7 })
    expect(world.context.history.pending).toMatchObject({ entries: [], total: 0 })
  })

  test('pushes newer than the list are kept, except those drained in the meantime', () => {
    const world = worldIn('RECONCILING')
    const [one, two] = [
      { ...entry, signal_id: 'one', seq: 8 },
      { ...entry, signal_id: 'two', seq: 9 },
    ]
    world.tell({ type: 'SIGNAL_PUSHED', entry: one, total: 2 })
    world.tell({ type: 'SIGNAL_PUSHED', entry: two, total: 3 })
    world.tell({ type: 'SIGNALS_DRAINED', signal_ids: ['one', 'listed'], session_id: 's', total: 1 })
    const signals = [{ ...entry, signal_id: 'listed', seq: 1 }]
    world.tell({ type: 'PENDING_LISTED', peek_id: 'reconcile-1', ...list, signals, total: 1, as_of_seq: 7 })
    const { entries, total } = world.context.history.pending
    expect(entries.map(({ signal_id }) => signal_id)).toEqual(['two'])
    expect(total).toBe(1)
  })

  test('a signal that was drained and released while the list was requested is kept', () => {
    const world = worldIn('RECONCILING')
    world.tell({ type: 'SIGNALS_DRAINED', signal_ids: ['listed'], session_id: 's', total: 0 })
    world.tell({ type: 'SIGNALS_RELEASED', signal_ids: ['listed'], total: 1 })
    const signals = [{ ...entry, signal_id: 'listed', seq: 1 }]
    world.tell({ type: 'PENDING_LISTED', peek_id: 'reconcile-1', ...list, signals, total: 1, as_of_seq: 7 })
    expect(world.context.history.pending.total).toBe(1)
  })

  test('a drain that only the list reveals is recorded with the current time', () => {
    const world = readyWorld()
    world.pushes()
    expect(world.bells).toHaveLength(1)
    world.linkLost()
    world.connects()
    expect(world.context.last_drain_at, 'what was rung for still waits').toBeNull()
    world.linkLost()
    world.queue.length = 0
    world.pass(60_000)
    world.connects()
    expect(world.context.last_drain_at).toBe(world.now)
  })
})

describe('emitting', () => {
  test('the hub is queried once more, one doorbell is sent, and the machine is CONNECTED again', () => {
    const world = worldIn('EMITTING')
    expect(world.effects.at(-1)).toEqual({ type: 'peek', params: { peek_id: 'check-2', limit: 1 } })
    world.hubAnswersNow()
    expect(world.bells).toHaveLength(1)
    expect(world.state).toBe('CONNECTED')
  })

  test('no doorbell is sent if a turn started during the check', () => {
    const world = worldIn('EMITTING')
    world.turnBegins()
    world.hubAnswersNow()
    expect(world.bells).toEqual([])
    expect(world.state).toBe('CONNECTED')
  })

  test('a check without a response in emit_check_ms closes the link as stalled', () => {
    const world = worldIn('EMITTING')
    world.pass(LIMITS.emit_check_ms)
    expect(world.state).toBe('DISCONNECTED')
    expect(world.errors).toEqual(['ws_stream_stalled'])
    expect(world.effects).toContainEqual({ type: 'closeLink', params: undefined })
  })

  test('the whole list is requested after ids were released without their metadata', () => {
    const world = readyWorld()
    world.turnBegins()
    world.pushes(5)
    const taken = world.drains()
    world.releases(taken)
    world.turnEnds()
    expect(world.effects).toContainEqual({ type: 'peek', params: { peek_id: 'check-2', limit: 1_000 } })
    expect(world.bells[0]?.doorbell).toMatchObject({ priority: 5 })
  })
})

describe('signals that expire or that the operator completes', () => {
  test('expired signals no longer ring and are no longer pending', () => {
    const world = readyWorld()
    world.turnBegins()
    world.pushes()
    world.expires()
    expect(world.context.history.pending).toEqual({ entries: [], total: 0, settled: true })
    world.turnEnds()
    expect(world.bells).toEqual([])
    expect(world.context.last_drain_at).toBeNull()
  })

  test('expired signals answer no doorbell: the next signal waits for its turn', () => {
    const world = readyWorld()
    world.pushes()
    expect(world.bells).toHaveLength(1)
    world.expires()
    world.pushes()
    expect(world.bells).toHaveLength(1)
    world.turnBegins(true)
    world.turnEnds()
    expect(world.bells).toHaveLength(2)
  })

  test('signals that expire while the list is requested are not on it', () => {
    const world = readyWorld()
    const [kept, expired] = [world.accepts(), world.accepts()]
    world.linkLost()
    world.hubAnswers = false
    world.connects()
    world.tell({ type: 'SIGNALS_GONE', signal_ids: [expired.signal_id], total: 1 })
    world.hubAnswersNow()
    expect(world.context.history.pending).toMatchObject({ entries: [kept], total: 1 })
  })
})

describe('the pending index', () => {
  test('the index holds at most a thousand signals and counts the rest', () => {
    const world = readyWorld()
    world.turnBegins()
    for (let n = 0; n < 1_200; n += 1) world.pushes()
    expect(world.context.history.pending.entries).toHaveLength(1_000)
    expect(world.context.history.pending.total).toBe(1_200)
    world.drains(1_100)
    world.turnEnds()
    expect(world.bells.map(({ doorbell }) => doorbell.pending_count)).toEqual([100])
  })

  test('the index contains only ids and metadata', () => {
    const world = readyWorld()
    world.pushes()
    expect(Object.keys(world.context.history.pending.entries[0] ?? {}).sort()).toEqual([
      'from',
      'intent',
      'priority',
      'seq',
      'signal_id',
    ])
  })

  test('a fresh daemon without an index behaves like one that had it', () => {
    const world = readyWorld()
    world.turnBegins()
    world.pushes()
    const restarted = machineWorld()
    restarted.accepts()
    restarted.connects()
    restarted.reports({ turn: 'busy' })
    for (const each of [world, restarted]) {
      each.turnEnds()
      expect(each.bells).toHaveLength(1)
    }
  })

  test('a thousand quiet signals with more beyond the index do not cause endless checks', () => {
    const world = machineWorld()
    for (let n = 0; n < 1_500; n += 1) world.accepts(0)
    world.connects()
    world.reports({ take: true })
    expect(world.state).toBe('CONNECTED')
    expect(world.bells).toEqual([])
  })
})

describe('surface facts', () => {
  test('facts are published only when turn, session or attachment change', () => {
    const world = readyWorld()
    const publishes = () => world.effects.filter(({ type }) => type === 'publishFacts').length
    const before = publishes()
    world.reports()
    world.reports()
    expect(publishes()).toBe(before)
    world.turnBegins()
    world.turnEnds()
    world.surfaceLeaves()
    expect(publishes()).toBe(before + 3)
  })
})

describe('resume_surface', () => {
  test('resume_surface drops the attachment without counting an error, and a new report binds again', () => {
    const world = readyWorld()
    const effects = world.tell({ type: 'RESUME_REQUESTED' })
    expect(effects.map(({ type }) => type)).toEqual(['resumeSurface', 'publishFacts'])
    expect(world.delivery).toBe('degraded')
    world.reports()
    expect(world.delivery).toBe('ok')
    expect(world.errors).toEqual([])
  })
})
