import { describe, expect, test } from 'vitest'
import { LIMITS } from '../../../src/contracts/limits/limits.ts'
import { factsOf } from '../../../src/daemon/history.ts'
import { machineWorld, readyWorld, RULES, type MachineWorld } from '../../support/worlds/machine-world.ts'

const LONGEST_REMINDER_MS = Math.max(...LIMITS.reminders_ms)
/** Time until the first reminder. */
const REMINDER_MS = LIMITS.reminders_ms[0]

const reasons = (world: { bells: { doorbell: { reason: string } }[] }) =>
  world.bells.map(({ doorbell }) => doorbell.reason)

describe('a healthy, idle surface', () => {
  test('an idle surface is rung at once for a push', () => {
    const world = readyWorld()
    const entry = world.pushes()
    expect(world.bells).toHaveLength(1)
    expect(world.bells[0]?.doorbell).toMatchObject({
      identity: 'ada',
      signal_id: entry.signal_id,
      pending_count: 1,
      reason: 'signal',
    })
    expect(world.state).toBe('CONNECTED')
  })

  test('an idle surface is rung once for a repeated push', () => {
    const world = readyWorld()
    const entry = world.pushes()
    world.turnBegins(true)
    world.repeatsPush(entry)
    world.repeatsPush(entry)
    expect(world.bells).toHaveLength(1)
  })

  test('an idle surface is not rung for a quiet push, and the next doorbell counts it', () => {
    const world = readyWorld()
    world.pushes(0)
    expect(world.bells).toHaveLength(0)
    const loud = world.pushes(1)
    expect(world.bells.map(({ doorbell }) => [doorbell.signal_id, doorbell.pending_count])).toEqual([
      [loud.signal_id, 2],
    ])
  })

  test('a doorbell names the highest priority first, then the oldest signal', () => {
    const world = readyWorld()
    world.turnBegins()
    world.pushes(3)
    const urgent = world.pushes(9)
    world.pushes(9)
    world.turnEnds()
    expect(world.bells.map(({ doorbell }) => doorbell.signal_id)).toEqual([urgent.signal_id])
  })
})

describe('a turn', () => {
  test('a running turn is never interrupted: pushes during it cause one doorbell after it', () => {
    const world = readyWorld()
    world.turnBegins()
    world.pushes()
    world.pushes()
    world.pushes()
    expect(world.bells).toHaveLength(0)
    world.turnEnds()
    expect(world.bells.map(({ doorbell }) => doorbell.pending_count)).toEqual([3])
  })

  test('a turn that stays unknown counts as running, and later as one that cannot be rung', () => {
    const world = readyWorld()
    world.reports({ turn: 'unknown' })
    expect(world.delivery).toBe('ok')
    world.pass(LIMITS.turn_unknown_max_ms - 1)
    world.reports({ turn: 'unknown' })
    expect(world.delivery).toBe('ok')
    world.pass(1)
    expect(world.delivery).toBe('degraded')
    world.reports({ turn: 'idle' })
    expect(world.delivery).toBe('ok')
  })

  test('an unknown turn counts as running', () => {
    const world = machineWorld()
    world.connects()
    world.reports({ turn: 'unknown' })
    world.pushes()
    expect(world.bells).toHaveLength(0)
    world.reports({ turn: 'idle' })
    expect(world.bells).toHaveLength(1)
  })

  test('a backlog of twelve signals causes one doorbell, and the drain returns all twelve', () => {
    const world = readyWorld()
    world.linkLost()
    for (let n = 0; n < 12; n += 1) world.accepts()
    world.turnBegins()
    world.connects()
    expect(world.bells).toHaveLength(0)
    world.turnEnds()
    expect(world.bells.map(({ doorbell }) => [doorbell.pending_count, doorbell.reason])).toEqual([
      [12, 'backlog'],
    ])
    world.turnBegins(true)
    expect(world.drains()).toHaveLength(12)
    world.turnEnds()
    world.pass(3_600_000)
    expect(world.bells).toHaveLength(1)
  })

  test('five signals and five turns without a drain cause five doorbells, each naming another signal', () => {
    const world = readyWorld()
    const entries = [1, 2, 3, 4, 5].map(() => world.pushes())
    for (let turn = 1; turn <= 4; turn += 1) {
      world.ignoresTurn()
      expect(world.bells).toHaveLength(turn + 1)
    }
    const named = world.bells.map(({ doorbell }) => doorbell.signal_id)
    expect(named).toEqual(entries.map(({ signal_id }) => signal_id))
  })

  test('a turn started by a doorbell gets no other doorbell until it ends', () => {
    const world = readyWorld()
    world.pushes()
    world.pushes()
    world.pass(5_000)
    world.turnBegins(true)
    world.pushes()
    world.drains(1)
    expect(world.bells).toHaveLength(1)
    world.turnEnds()
    expect(world.bells).toHaveLength(2)
  })
})

describe('a drain', () => {
  test('a partial drain with the agent idle is followed by a doorbell for the rest', () => {
    const world = readyWorld()
    world.pushes()
    world.pushes()
    world.drains(1)
    expect(world.bells.map(({ doorbell }) => doorbell.pending_count)).toEqual([1, 1])
  })

  test('a partial drain by another session does not answer the doorbell: none follows before its turn ends', () => {
    const world = readyWorld()
    world.pushes()
    world.pushes()
    world.drains(1, 'cli:by-hand')
    expect(world.context.history.pending.total).toBe(1)
    expect(world.bells).toHaveLength(1)
    world.turnBegins(true)
    expect(world.bells).toHaveLength(1)
    world.turnEnds()
    expect(world.bells.map(({ doorbell }) => doorbell.pending_count)).toEqual([1, 1])
  })

  test('a complete drain by another session leaves nothing to ring for, and the next push rings', () => {
    const world = readyWorld()
    world.pushes()
    world.drains(1, 'cli:by-hand')
    world.turnBegins()
    world.turnEnds()
    world.pass(3_600_000)
    expect(world.bells).toHaveLength(1)
    world.pushes()
    expect(world.bells).toHaveLength(2)
  })

  test('a drain by another session still shows that doorbells are answered', () => {
    const world = readyWorld()
    for (let n = 0; n < 12; n += 1) world.pushes()
    // An agent may drain with a session that its surface does not know, one signal in each turn.
    for (let turn = 0; turn < 10; turn += 1) {
      const before = world.bells.length
      world.turnBegins(true)
      world.drains(1, 'mcp-of-the-same-agent')
      world.turnEnds()
      world.passUntilBell(LONGEST_REMINDER_MS, before)
    }
    expect(world.bells).toHaveLength(11)
    expect(world.delivery).toBe('ok')
  })

  test('a drain by another session does not end a hold', () => {
    const world = readyWorld()
    world.linkLost()
    world.accepts()
    world.accepts()
    world.connects()
    world.drains(1, 'cli:by-hand')
    expect(world.bells).toHaveLength(0)
    world.turnBegins()
    world.turnEnds()
    expect(reasons(world)).toEqual(['backlog'])
  })

  test.each(['session-1', 'anonymous:ada'])('a drain by %s counts as the agent’s own', (session_id) => {
    const world = readyWorld()
    world.pushes()
    world.pushes()
    world.drains(1, session_id)
    expect(world.bells).toHaveLength(2)
  })

  test('a drain counts as the agent’s own if the surface cannot name its session', () => {
    const world = machineWorld()
    world.connects()
    world.reports({ session_id: null })
    world.pushes()
    world.pushes()
    world.drains(1, 'whoever')
    expect(world.bells).toHaveLength(2)
  })

  test('a drain by another session while the list is requested does not answer the doorbell', () => {
    const world = readyWorld()
    world.pushes()
    world.pushes()
    world.linkLost()
    world.hubAnswers = false
    world.connects()
    const [bell] = [world.context.history.bell]
    world.tell({ type: 'SIGNALS_DRAINED', signal_ids: [], session_id: 'cli:by-hand', total: 2 })
    expect(world.context.history.bell).toEqual(bell)
    world.tell({ type: 'SIGNALS_DRAINED', signal_ids: [], session_id: 'session-1', total: 2 })
    expect(world.context.history.bell).toBeNull()
  })

  test.each([
    ['drained by another session', 'made before', (world: MachineWorld) => world.drains(1, 'cli:by-hand')],
    ['drained by another session', 'made after', (world: MachineWorld) => world.drains(1, 'cli:by-hand')],
    ['expired', 'made before', (world: MachineWorld) => world.expires(1)],
    ['expired', 'made after', (world: MachineWorld) => world.expires(1)],
  ] as const)(
    'a doorbell whose signal is %s while a list is requested that was %s still counts for the agent',
    (_, made, leaves) => {
      const world = readyWorld()
      world.pushes()
      world.linkLost()
      world.hubAnswers = false
      world.connects()
      const peek_id = world.context.reconcile!.peek_id
      const list = { peek_id, signals: [...world.queue], total: 1, as_of_seq: 1, doorbell_id: 'b-1' }
      leaves(world)
      world.hubAnswers = true
      if (made === 'made before') world.tell({ type: 'PENDING_LISTED', ...list })
      // This is no longer awaited if an earlier one was.
      world.hubAnswersNow()
      expect(world.state).toBe('CONNECTED')
      world.pushes()
      expect(world.bells).toHaveLength(1)
      world.turnBegins(true)
      world.turnEnds()
      expect(world.bells).toHaveLength(2)
    },
  )

  test('a drain that only the list reveals answers the doorbell', () => {
    const world = readyWorld()
    world.pushes()
    world.linkLost()
    world.losesSilently()
    world.connects()
    world.pushes()
    expect(world.bells).toHaveLength(2)
  })

  test("a complete drain by another session keeps the agent's doorbell: no second one follows in its turn", () => {
    const world = readyWorld()
    world.pushes()
    world.drains(Infinity, 'cli:by-hand')
    world.pushes()
    expect(world.bells).toHaveLength(1)
    world.turnBegins(true)
    expect(world.bells).toHaveLength(1)
    world.turnEnds()
    expect(world.bells).toHaveLength(2)
  })

  test('a complete drain clears the doorbell: the next push rings at once', () => {
    const world = readyWorld()
    world.pushes()
    world.turnBegins(true)
    world.drains()
    world.turnEnds()
    expect(world.bells).toHaveLength(1)
    world.pushes()
    expect(world.bells).toHaveLength(2)
  })

  test('a drain that was not reported is found before a doorbell is sent', () => {
    const world = readyWorld()
    world.turnBegins()
    world.pushes()
    world.losesSilently()
    world.turnEnds()
    expect(world.bells).toHaveLength(0)
    expect(world.context.history.pending.total).toBe(0)
    expect(world.state).toBe('CONNECTED')
  })

  test('a partial drain that was not reported leads to a doorbell for the rest', () => {
    const world = readyWorld()
    world.turnBegins()
    world.pushes()
    world.pushes()
    const third = world.pushes()
    world.losesSilently(2)
    world.turnEnds()
    expect(world.bells.map(({ doorbell }) => [doorbell.signal_id, doorbell.pending_count])).toEqual([
      [third.signal_id, 1],
    ])
  })

  test('a drain that a list showed before it was reported keeps the doorbell for later signals', () => {
    const world = readyWorld()
    world.pushes(0)
    const gone = world.queue.map(({ signal_id }) => signal_id)
    world.losesSilently()
    world.pushes()
    expect(world.bells.map(({ doorbell }) => doorbell.pending_count)).toEqual([1])
    world.tell({ type: 'SIGNALS_DRAINED', signal_ids: gone, session_id: 'session-1', total: 1 })
    expect(world.bells).toHaveLength(1)
    world.turnBegins(true)
    world.turnEnds()
    world.pass(REMINDER_MS)
    expect(world.bells).toHaveLength(2)
  })

  test('a late report of a partial drain keeps the doorbell if the check found fewer signals than known', () => {
    const world = readyWorld()
    world.turnBegins()
    const gone = world.pushes(9)
    world.pushes()
    world.pushes()
    world.losesSilently(1)
    world.turnEnds()
    expect(world.bells.map(({ doorbell }) => doorbell.pending_count)).toEqual([2])
    const signal_ids = [gone.signal_id]
    world.tell({ type: 'SIGNALS_DRAINED', signal_ids, session_id: 'session-1', total: 2 })
    expect(world.bells).toHaveLength(1)
  })

  test('a drain while the list is requested shows that the agent is awake: the rest rings like a new signal', () => {
    const world = readyWorld()
    world.pushes()
    for (let death = 0; death < 3; death += 1) world.releases(world.drains())
    expect(world.context.history.setbacks.count).toBe(3)
    world.drains()
    world.linkLost()
    world.accepts()
    const left = world.accepts()
    world.hubAnswers = false
    world.connects()
    world.hubAnswers = true
    world.drains(1)
    world.hubAnswersNow()
    expect(world.bells.at(-1)!.doorbell).toMatchObject({ signal_id: left.signal_id, reason: 'backlog' })
    expect(world.context.history.setbacks.count).toBe(0)
  })

  test('a released drain rings again, also for signals named before', () => {
    const world = readyWorld()
    world.pushes()
    world.turnBegins(true)
    const taken = world.drains()
    world.turnEnds()
    world.releases(taken)
    expect(world.bells).toHaveLength(2)
    expect(world.bells[1]?.doorbell.signal_id).toBe(taken[0]?.signal_id)
  })

  test('repeated releases ring at once only the first time, then with growing delays', () => {
    const world = readyWorld()
    world.pushes()
    const gaps = []
    for (let death = 0; death < 5; death += 1) {
      world.turnBegins(true)
      const taken = world.drains()
      world.turnEnds()
      const before = world.now
      world.releases(taken)
      while (world.bells.length < death + 2) world.pass(1_000)
      gaps.push(world.now - before)
    }
    expect(gaps).toEqual([0, 10_000, 20_000, 40_000, 80_000])
  })

  test('a kept drain after releases ends the delay, and so does a push', () => {
    const world = readyWorld()
    const dies = () => {
      world.turnBegins(true)
      const taken = world.drains()
      world.turnEnds()
      world.releases(taken)
    }
    world.pushes()
    dies()
    dies()
    expect(world.bells).toHaveLength(2)
    world.pushes()
    expect(world.bells).toHaveLength(3)
    world.turnBegins(true)
    world.drains(1)
    world.drains()
    world.turnEnds()
    world.pushes()
    dies()
    expect(world.bells).toHaveLength(5)
  })

  test('a released drain of quiet signals stays quiet', () => {
    const world = readyWorld()
    world.pushes(0)
    world.turnBegins()
    const taken = world.drains()
    world.turnEnds()
    world.releases(taken)
    expect(world.bells).toHaveLength(0)
    expect(world.state).toBe('CONNECTED')
  })
})

describe('a lost doorbell', () => {
  test('a lost doorbell is sent again after bell_receipt_ms of idleness, with growing delays', () => {
    const world = readyWorld()
    world.pushes()
    world.pass(9_999)
    expect(world.bells).toHaveLength(1)
    world.pass(300_000)
    const times = world.bells.map(({ at }) => at - (world.bells[0]?.at ?? 0))
    expect(times).toEqual([0, 10_000, 30_000, 70_000, 150_000])
  })

  test('three lost doorbells in a row make delivery degraded until one is seen', () => {
    const world = readyWorld()
    world.pushes()
    world.pass(69_999)
    expect(world.delivery).toBe('ok')
    world.pass(1)
    expect(world.delivery).toBe('degraded')
    world.turnBegins(true)
    expect(world.delivery).toBe('ok')
  })

  test('a doorbell is not lost while the agent works, nor once it was seen', () => {
    const world = readyWorld()
    world.pushes()
    world.pass(5_000)
    world.turnBegins(true)
    world.pass(3_600_000)
    expect(world.bells).toHaveLength(1)
  })

  test('a doorbell on a surface without receipts waits for the next boundary', () => {
    const world = readyWorld({ receipts: false })
    world.pushes()
    world.pass(60_000)
    expect(world.bells).toHaveLength(1)
    world.turnBegins()
    world.turnEnds()
    expect(world.bells).toHaveLength(2)
  })

  test('a doorbell on a surface without receipts is sent again after reconnect_patience_ms', () => {
    const world = readyWorld({ receipts: false })
    world.pushes()
    world.pass(299_999)
    expect(world.bells).toHaveLength(1)
    world.pass(1)
    expect(world.bells).toHaveLength(2)
  })

  test('a doorbell in the response to a report counts as lost when the surface stays idle', () => {
    const world = readyWorld()
    world.turnBegins()
    world.pushes()
    expect(world.turnEndsAsking()).not.toBeNull()
    world.turnEnds()
    world.pass(9_999)
    expect(world.bells).toHaveLength(1)
    world.pass(1)
    expect(world.bells.map(({ taken }) => taken)).toEqual([true, false])
  })
})

describe('a doorbell that the surface still holds', () => {
  const holding = (rules = {}) => {
    const world = readyWorld(rules)
    world.surfaceHolds = true
    world.pushes()
    return world
  }

  test('a held doorbell is not lost however long the surface is idle, and is probed again', () => {
    const world = holding()
    world.pass(3_600_000)
    expect(world.bells).toHaveLength(1)
    world.surfaceHolds = false
    world.pass(10_000)
    expect(world.bells).toHaveLength(2)
  })

  test.each([true, null])(
    'a held doorbell makes delivery degraded after bell_held_max_ms, until it is gone (%j)',
    (holds) => {
      const world = holding()
      world.surfaceHolds = holds
      world.pass(LIMITS.bell_held_max_ms - 1)
      expect(world.delivery_reason).toBeNull()
      world.pass(1)
      expect(world.delivery_reason).toBe('surface_failed')
      world.surfaceHolds = false
      world.pass(10_000)
      expect(world.bells).toHaveLength(2)
      expect(world.delivery_reason).toBeNull()
    },
  )

  test('a held doorbell is not probed before it could be lost', () => {
    const world = holding()
    world.pass(9_999)
    expect(world.probes).toEqual([])
    world.pass(1)
    expect(world.probes).toHaveLength(1)
  })

  test('a held doorbell is not followed by another because of a foreign turn or a new signal', () => {
    const world = holding()
    world.pass(6_200)
    world.turnBegins()
    world.turnEnds()
    world.pushes()
    world.pass(600_000)
    expect(world.bells).toHaveLength(1)
  })

  test('a held doorbell is not followed by another after a drain that happened without it', () => {
    const world = holding()
    world.turnBegins()
    world.drains()
    world.turnEnds()
    world.pushes()
    world.pass(600_000)
    expect(world.bells).toHaveLength(1)
    world.surfaceHolds = false
    world.pass(10_000)
    expect(world.bells).toHaveLength(2)
  })

  test('a held doorbell in a report is probed again as soon as a report shows that it is gone', () => {
    const world = readyWorld()
    world.pushes()
    const outstanding_doorbell_id = world.bells[0]!.doorbell.doorbell_id
    world.reports({ outstanding_doorbell_id })
    world.pass(9_000)
    world.reports({ outstanding_doorbell_id })
    world.pass(1_000)
    expect(world.bells).toHaveLength(1)
    world.reports()
    expect(world.bells).toHaveLength(2)
  })

  test('a held doorbell of an earlier daemon is known from the first report', () => {
    const world = machineWorld()
    world.surfaceHolds = null
    world.accepts()
    world.connects()
    world.reports({ outstanding_doorbell_id: '01B00000000000000000000077' })
    world.pushes()
    world.pass(600_000)
    expect(world.bells).toHaveLength(0)
  })

  test('a doorbell counts as held if the surface does not respond to the probe', () => {
    const world = readyWorld()
    world.surfaceHolds = null
    world.pushes()
    world.pass(600_000)
    expect(world.bells).toHaveLength(1)
    world.surfaceHolds = false
    world.pass(10_000)
    expect(world.bells).toHaveLength(2)
  })

  test("the probe's response is awaited, and a response to an older probe is ignored", () => {
    const world = readyWorld()
    world.surfaceHolds = 'late'
    world.pushes()
    world.pass(20_000)
    expect(world.probes).toHaveLength(1)
    world.tell({ type: 'SURFACE_PROBED', probe_id: 'probe-0', holds: false })
    expect(world.bells).toHaveLength(1)
    world.probeAnswers(false)
    expect(world.bells).toHaveLength(2)
  })

  test('a receipt consumes the held doorbell and ends the probes', () => {
    const world = readyWorld()
    world.pushes()
    world.turnBegins(true)
    world.turnEnds()
    world.pushes()
    expect(world.bells).toHaveLength(2)
    expect(world.probes).toEqual([])
  })

  test('a doorbell whose delivery failed is probed, because the client may still have it', () => {
    const world = readyWorld()
    world.surfaceAnswers = { accepted: false, proof: 'failed' }
    world.surfaceHolds = true
    world.pushes()
    world.pushes()
    world.pass(600_000)
    expect(world.bells).toHaveLength(1)
  })

  test.each(['deferred', 'unavailable'] as const)(
    'a doorbell is not probed if the surface was %s',
    (proof) => {
      const world = readyWorld()
      world.surfaceAnswers = { accepted: false, proof }
      world.surfaceHolds = true
      world.pushes()
      world.pass(10_000)
      expect(world.probes).toEqual([])
      expect(world.bells).toHaveLength(2)
    },
  )

  test('a doorbell is not probed on a surface without receipts', () => {
    const world = readyWorld({ receipts: false })
    world.pushes()
    world.pass(300_000)
    expect(world.bells).toHaveLength(2)
    expect(world.probes).toEqual([])
  })

  test('a held doorbell keeps the response at the end of a turn empty, and notify_surface is refused', () => {
    const world = readyWorld()
    world.pushes()
    const outstanding_doorbell_id = world.bells[0]!.doorbell.doorbell_id
    world.turnBegins()
    world.pushes()
    expect(world.reports({ turn: 'busy', take: true, outstanding_doorbell_id })).toBeNull()
    world.reports({ turn: 'idle', outstanding_doorbell_id })
    expect(world.notify()).toEqual({ accepted: false, reason: 'already_rung' })
  })

  test("a doorbell held by a session that is gone does not delay the next session's", () => {
    const world = holding()
    world.reports({ session_id: 'session-2', turn_seq: 0 })
    expect(world.bells).toHaveLength(2)
  })

  test('a probe to a replaced shim does not change the held doorbell', () => {
    const world = readyWorld()
    world.surfaceHolds = 'late'
    world.pushes()
    world.pass(10_000)
    world.reports({}, false)
    world.surfaceHolds = true
    world.pass(600_000)
    expect(world.probes.length).toBeGreaterThan(1)
    expect(world.bells).toHaveLength(1)
  })
})

describe('after an interrupt by a person', () => {
  const interruptedWorld = () => {
    const world = readyWorld()
    world.turnBegins()
    world.reports({ turn: 'idle', interrupted: true })
    world.pushes()
    return world
  }
  const withoutInterrupt = { interrupted: undefined }

  test('an interrupt holds doorbells for five quiet minutes', () => {
    const world = interruptedWorld()
    world.pass(299_999)
    expect(world.bells).toHaveLength(0)
    world.pass(1)
    expect(world.bells).toHaveLength(1)
  })

  test('an interrupt ends with the turn of what the person sends next', () => {
    const world = interruptedWorld()
    world.pass(60_000)
    world.reports({ turn: 'busy', turn_seq: world.report.turn_seq + 1, ...withoutInterrupt })
    expect(world.bells).toHaveLength(0)
    world.turnEnds()
    expect(world.bells).toHaveLength(1)
  })

  test('notify_surface rings during an interrupt', () => {
    const world = interruptedWorld()
    expect(world.notify()).toEqual({ accepted: true })
    expect(world.bells).toHaveLength(1)
  })

  test('a shim that returns without knowing about the interrupt does not end it', () => {
    const world = interruptedWorld()
    world.surfaceLeaves()
    world.reports(withoutInterrupt)
    world.pass(299_999)
    expect(world.bells).toHaveLength(0)
    world.pass(1)
    expect(world.bells).toHaveLength(1)
  })

  test('the shim itself can end the interrupt', () => {
    const world = interruptedWorld()
    world.reports(withoutInterrupt)
    expect(world.bells).toHaveLength(1)
  })

  test('a second interrupt restarts the five minutes', () => {
    const world = interruptedWorld()
    world.pass(200_000)
    world.reports({ turn: 'busy', turn_seq: world.report.turn_seq + 1, ...withoutInterrupt })
    world.reports({ turn: 'idle', interrupted: true })
    world.pass(299_999)
    expect(world.bells).toHaveLength(0)
    world.pass(1)
    expect(world.bells).toHaveLength(1)
  })
})

describe('a session without a window', () => {
  test('a session without a window is not rung, not even by hand, and the status contains the reason', () => {
    const world = readyWorld()
    world.reports({ window: false })
    world.pushes()
    world.notify()
    world.pass(3_600_000)
    expect(world.bells).toHaveLength(0)
    expect(world.delivery_reason).toBe('no_window')
    world.reports({ window: undefined })
    expect(world.bells).toHaveLength(1)
    expect(world.delivery_reason).toBeNull()
  })

  test('a session without a window is rung if the persona is headless', () => {
    const world = readyWorld({ headless: true })
    world.reports({ window: false })
    world.pushes()
    expect(world.bells).toHaveLength(1)
    expect(world.delivery_reason).toBeNull()
  })

  test('a session without a window gets no doorbell in the response at the end of a turn', () => {
    const world = readyWorld()
    world.turnBegins()
    world.pushes()
    expect(world.reports({ turn: 'idle', take: true, window: false })).toBeNull()
  })
})

describe('the delivery reason', () => {
  test.each([
    ['hub_unreachable', (world: MachineWorld) => world.linkLost()],
    ['no_client', (world: MachineWorld) => world.surfaceLeaves()],
    [
      'surface_failed',
      (world: MachineWorld) => {
        world.surfaceAnswers = { accepted: false, proof: 'failed' }
        world.pushes()
      },
    ],
    [
      'surface_failed',
      (world: MachineWorld) => {
        world.reports({ turn: 'unknown' })
        world.pass(300_000)
      },
    ],
  ] as const)('the delivery reason is %s', (reason, happens) => {
    const world = readyWorld()
    expect(world.delivery_reason).toBeNull()
    happens(world)
    expect(world.delivery_reason).toBe(reason)
  })

  test('the delivery reason is the cause and not its effect: a lost hub before a missing client', () => {
    const world = readyWorld()
    world.surfaceLeaves()
    world.linkLost()
    expect(world.delivery_reason).toBe('hub_unreachable')
  })
})

describe('an agent that does not drain', () => {
  const ignoreTurns = (world: ReturnType<typeof readyWorld>, turns: number) => {
    for (let turn = 0; turn < turns; turn += 1) {
      world.ignoresTurn()
    }
  }

  test('an agent that does not drain is reminded 30 s, 2 min and 10 min after its turns, then delivery is degraded', () => {
    const world = readyWorld()
    world.pushes()
    const gaps = []
    for (let turn = 1; turn <= 3; turn += 1) {
      const before = world.bells.length
      world.turnBegins(true)
      world.turnEnds()
      const ended_at = world.now
      expect(world.bells).toHaveLength(before)
      world.passUntilBell(LONGEST_REMINDER_MS, before)
      gaps.push(world.now - ended_at)
    }
    expect(gaps).toEqual([30_000, 120_000, 600_000])
    expect(world.bells).toHaveLength(4)
    expect(world.delivery).toBe('ok')
    ignoreTurns(world, 5)
    world.pass(3_600_000)
    expect(world.bells).toHaveLength(4)
    expect(world.delivery_reason).toBe('not_drained')
    world.drains()
    expect(world.delivery_reason).toBeNull()
  })

  test('an agent is reminded at a boundary: not before a running turn of its own has ended', () => {
    const world = readyWorld()
    world.pushes()
    world.turnBegins(true)
    world.turnEnds()
    world.pass(20_000)
    world.turnBegins()
    world.pass(60_000)
    expect(world.bells).toHaveLength(1)
    world.turnEnds()
    expect(world.bells).toHaveLength(2)
  })

  test('a reminder is not earlier in the response at the end of a turn', () => {
    const world = readyWorld()
    world.pushes()
    world.turnBegins(true)
    expect(world.turnEndsAsking()).toBeNull()
    world.turnEnds()
    world.pass(REMINDER_MS - 1)
    expect(world.bells).toHaveLength(1)
    world.turnBegins()
    expect(world.reports({ turn: 'busy', take: true })).toBeNull()
    world.pass(1)
    expect(world.reports({ turn: 'busy', take: true })).not.toBeNull()
  })

  test('an agent that ignored all reminders is rung once for a new push', () => {
    const world = readyWorld()
    world.pushes()
    ignoreTurns(world, 4)
    const news = world.pushes()
    ignoreTurns(world, 4)
    expect(world.bells).toHaveLength(5)
    expect(world.bells[4]?.doorbell.signal_id).toBe(news.signal_id)
    expect(world.delivery).toBe('degraded')
  })

  test('an agent that ignored all reminders is not rung for a repeated push', () => {
    const world = readyWorld()
    const entry = world.pushes()
    ignoreTurns(world, 4)
    world.repeatsPush(entry)
    expect(world.bells).toHaveLength(4)
    expect(world.context.history.pending.entries).toHaveLength(1)
  })

  test('an agent that drained gets reminders again', () => {
    const world = readyWorld()
    world.pushes()
    ignoreTurns(world, 4)
    world.drains()
    expect(world.delivery).toBe('ok')
    world.pushes()
    ignoreTurns(world, 3)
    expect(world.bells).toHaveLength(8)
  })

  test("an agent's record is not passed on to a session that attaches after an absence", () => {
    const world = readyWorld()
    world.pushes()
    ignoreTurns(world, 4)
    expect(world.delivery).toBe('degraded')
    world.surfaceLeaves()
    world.reports({ session_id: null, turn: 'unknown' })
    world.reports({ session_id: 'session-2', turn: 'idle', turn_seq: 0 })
    expect(world.delivery).toBe('ok')
    expect(world.bells).toHaveLength(5)
  })

  test('an agent is rung like for a new signal if only the check before the doorbell found it', () => {
    const world = readyWorld()
    world.pushes()
    ignoreTurns(world, 2)
    world.turnBegins(true)
    world.tell({ type: 'SIGNALS_GONE', signal_ids: [], total: 2 })
    world.accepts()
    world.turnEnds()
    expect(world.bells).toHaveLength(4)
    expect(world.context.history.rerings).toBe(2)
  })

  test('an agent is rung like for a new signal that a check found without a doorbell following', () => {
    const world = readyWorld()
    world.pushes()
    ignoreTurns(world, 2)
    world.turnBegins(true)
    // The daemon's state is inconsistent, so it requests the whole list.
    world.tell({ type: 'SIGNALS_GONE', signal_ids: [], total: 2 })
    const late = world.accepts()
    world.hubAnswers = false
    world.turnEnds()
    world.turnBegins(true)
    world.hubAnswers = true
    world.hubAnswersNow()
    world.tell({ type: 'SIGNAL_PUSHED', entry: late, total: 2 })
    ignoreTurns(world, 9)
    expect(world.bells).toHaveLength(3 + 1 + RULES.redoorbell_max - 2)
  })

  test('an agent is rung once for a signal released while the hub was away', () => {
    const world = readyWorld()
    const taken = [world.pushes()]
    world.turnBegins(true)
    world.drains()
    world.turnEnds()
    const news = world.pushes()
    ignoreTurns(world, 4)
    expect(world.delivery).toBe('degraded')
    const before = world.bells.length
    world.linkLost()
    world.takesBack(taken)
    world.connects()
    ignoreTurns(world, 1)
    expect(world.bells.slice(before).map(({ doorbell }) => doorbell.signal_id)).toEqual([taken[0]!.signal_id])
    expect(news.seq).toBeGreaterThan(taken[0]!.seq)
  })

  test("an agent's record is not passed on to another session: that one is rung for the same signals", () => {
    const world = readyWorld()
    world.pushes()
    ignoreTurns(world, 4)
    world.reports({ session_id: 'session-2', turn_seq: 0 })
    expect(world.bells).toHaveLength(5)
    expect(world.delivery).toBe('ok')
    ignoreTurns(world, 5)
    expect(world.bells).toHaveLength(8)
    expect(world.delivery).toBe('degraded')
  })

  test('an agent gets no new record by alternating with another session', () => {
    const world = readyWorld()
    world.pushes()
    for (let turn = 0; turn < 20; turn += 1) {
      world.reports({ session_id: `session-${turn % 2}`, turn_seq: turn * 10 })
      ignoreTurns(world, 1)
    }
    expect(world.bells.length).toBeLessThanOrEqual(1 + 3 * (RULES.redoorbell_max + 1))
    expect(world.delivery).toBe('degraded')
    world.drains()
    world.pushes()
    ignoreTurns(world, 4)
    const before = world.bells.length
    world.reports({ session_id: 'session-0', turn_seq: 0 })
    expect(world.bells).toHaveLength(before + 1)
  })

  test('an agent is not reminded if redoorbell_max is 0', () => {
    const world = readyWorld({ redoorbell_max: 0 })
    world.pushes()
    ignoreTurns(world, 2)
    expect(world.bells).toHaveLength(1)
    expect(world.delivery).toBe('degraded')
  })
})

describe('two sessions that alternate at the surface', () => {
  test('alternating sessions are rung once each: the first is not rung again in the turn of its doorbell', () => {
    const world = readyWorld()
    world.reports({ turn_seq: 5 })
    world.pushes()
    world.reports({ session_id: 'session-2', turn_seq: 3 })
    expect(world.bells).toHaveLength(2)
    world.reports({ session_id: 'session-1', turn_seq: 5 })
    world.reports({ session_id: 'session-2', turn_seq: 3 })
    world.reports({ session_id: 'session-1', turn_seq: 5 })
    expect(world.bells).toHaveLength(2)
    world.turnBegins(true)
    world.turnEnds()
    world.pass(REMINDER_MS)
    expect(world.bells).toHaveLength(3)
  })

  test('alternating sessions are not rung again for the outcome of the other’s doorbell or a higher turn counter', () => {
    const world = readyWorld()
    world.reports({ turn_seq: 5 })
    world.pushes()
    world.surfaceAnswers = { accepted: false, proof: 'failed' }
    world.reports({ session_id: 'session-2', turn_seq: 3 })
    expect(world.bells).toHaveLength(2)
    world.surfaceAnswers = { accepted: true, proof: 'sent' }
    world.reports({ session_id: 'session-1', turn_seq: 5 })
    world.pushes()
    expect(world.bells).toHaveLength(2)
    world.reports({ session_id: 'session-3', turn_seq: 0 })
    world.surfaceLeaves()
    world.reports({ session_id: 'session-1', turn_seq: 1_000 })
    expect(world.bells).toHaveLength(3)
  })

  test('alternating sessions are distinguished also if a surface responds only after the other attached', () => {
    const world = readyWorld()
    world.surfaceAnswers = null
    world.pushes()
    const [first] = world.bells
    world.reports({ session_id: 'session-2', turn_seq: 3, turn: 'busy' })
    world.tell({
      type: 'BELL_ANSWERED',
      doorbell_id: first!.doorbell.doorbell_id,
      signal_id: first!.doorbell.signal_id,
      accepted: true,
      proof: 'sent',
    })
    world.reports({ session_id: 'session-1', turn_seq: 0, turn: 'idle' })
    expect(world.bells).toHaveLength(1)
    world.pass(10_000)
    expect(world.bells).toHaveLength(2)
  })

  test('alternating sessions do not share a spent record: the one that was never rung is rung', () => {
    const world = readyWorld()
    world.pushes()
    world.reports({ session_id: 'session-2', turn_seq: 3, turn: 'busy' })
    world.reports({ session_id: 'session-1', turn_seq: 0, turn: 'idle' })
    for (let turn = 0; turn < 9; turn += 1) {
      world.turnBegins(true)
      world.turnEnds()
    }
    const before = world.bells.length
    world.reports({ session_id: 'session-2', turn_seq: 4, turn: 'idle' })
    expect(world.bells).toHaveLength(before + 1)
  })

  test('alternating sessions are both rung for a signal that arrived while only one was attached', () => {
    const world = readyWorld()
    world.pushes()
    const away = () => world.reports({ session_id: 'session-2', turn_seq: 3, turn: 'idle' })
    const back = () => world.reports({ session_id: 'session-1', turn_seq: 0, turn: 'idle' })
    const ignoresAll = () => {
      for (let turn = 0; turn < 9; turn += 1) {
        world.turnBegins(true)
        world.turnEnds()
      }
    }
    away()
    back()
    ignoresAll()
    away()
    const news = world.pushes()
    ignoresAll()
    const before = world.bells.length
    world.reports({ session_id: 'session-1', turn_seq: 90, turn: 'busy' })
    world.turnEnds()
    expect(world.bells.slice(before).map(({ doorbell }) => doorbell.pending_count)).toEqual([2])
    expect(world.queue).toContainEqual(news)
  })

  test('alternating sessions that only report are answered with a doorbell at the end of each turn', () => {
    const world = machineWorld()
    world.connects()
    world.reports({ delivery: 'pull', turn: 'busy', turn_seq: 5 })
    world.pushes()
    expect(world.turnEndsAsking()).not.toBeNull()
    world.reports({ delivery: 'pull', session_id: 'session-2', turn: 'busy', turn_seq: 1 })
    world.drains(1, 'session-1')
    world.pushes()
    expect(
      world.reports({ delivery: 'pull', session_id: 'session-1', turn: 'idle', turn_seq: 6, take: true }),
    ).not.toBeNull()
  })

  test('alternating sessions each have their own turn, also if the shim of the second restarted', () => {
    const world = readyWorld()
    world.pushes()
    world.reports({ session_id: 'session-2', turn_seq: 3, turn: 'busy' })
    world.surfaceLeaves()
    world.reports({ session_id: 'session-2', turn_seq: 1_000, turn: 'idle' })
    expect(world.bells).toHaveLength(2)
  })

  test('alternating sessions start over with a drain', () => {
    const world = readyWorld()
    world.pushes()
    world.reports({ session_id: 'session-2', turn_seq: 3 })
    world.drains()
    world.pushes()
    world.reports({ session_id: 'session-1', turn_seq: 0 })
    expect(world.bells).toHaveLength(4)
  })
})

describe('a backlog found at a reconnect', () => {
  const withBacklog = (rules = {}) => {
    const world = readyWorld(rules)
    world.linkLost()
    world.accepts()
    world.accepts()
    world.connects()
    return world
  }

  test('a backlog does not ring by itself', () => {
    const world = withBacklog()
    world.pass(14_999)
    expect(world.bells).toHaveLength(0)
  })

  test('a backlog rings at the end of the next turn', () => {
    const world = withBacklog()
    world.turnBegins()
    expect(world.bells).toHaveLength(0)
    world.turnEnds()
    expect(reasons(world)).toEqual(['backlog'])
  })

  test('a backlog rings with the next push', () => {
    const world = withBacklog()
    world.pushes()
    expect(world.bells.map(({ doorbell }) => doorbell.pending_count)).toEqual([3])
  })

  test('a backlog rings with the push of a signal that the list already contained', () => {
    const world = withBacklog()
    const quiet = world.accepts(0)
    const late = world.accepts()
    world.linkLost()
    world.connects()
    world.repeatsPush(quiet)
    expect(world.bells).toHaveLength(0)
    world.repeatsPush(late)
    expect(world.bells.map(({ doorbell }) => doorbell.pending_count)).toEqual([4])
    world.repeatsPush(late)
    expect(world.bells).toHaveLength(1)
  })

  test('a backlog does not ring with a quiet push', () => {
    const world = withBacklog()
    world.pushes(0)
    expect(world.bells).toHaveLength(0)
  })

  test('a backlog rings after a partial drain', () => {
    const world = withBacklog()
    world.drains(1)
    expect(world.bells).toHaveLength(1)
  })

  test('a backlog rings in the response to a report at the end of a turn', () => {
    const world = withBacklog()
    expect(world.reports({ take: true })).toMatchObject({ reason: 'backlog', pending_count: 2 })
  })

  test('a backlog rings when the agent returned as another session', () => {
    const world = withBacklog()
    world.reports({ session_id: 'session-2', turn_seq: 0 })
    expect(world.bells).toHaveLength(1)
  })

  test('a backlog rings when a surface that had detached attaches again', () => {
    const world = withBacklog()
    world.surfaceLeaves()
    expect(world.bells).toHaveLength(0)
    world.reports()
    expect(world.bells).toHaveLength(1)
  })

  test('a backlog does not ring because a surface attaches for the first time', () => {
    const world = machineWorld()
    world.accepts()
    world.connects()
    world.reports()
    world.pass(14_999)
    expect(world.bells).toHaveLength(0)
  })

  test('a backlog rings a surface that is idle by evidence after reconnect_grace_ms, and not before', () => {
    const world = withBacklog()
    world.pass(10_000)
    world.turnBegins()
    expect(world.bells).toHaveLength(0)
    const idle = withBacklog()
    idle.pass(14_999)
    expect(idle.bells).toHaveLength(0)
    idle.pass(1)
    expect(reasons(idle)).toEqual(['backlog'])
  })

  test('a backlog rings a surface without receipts only after reconnect_patience_ms', () => {
    const world = withBacklog({ receipts: false })
    world.pass(299_999)
    expect(world.bells).toHaveLength(0)
    world.pass(1)
    expect(reasons(world)).toEqual(['backlog'])
  })

  test('a backlog waits at most reconnect_patience_ms if that is less than reconnect_grace_ms', () => {
    const world = withBacklog({ reconnect_patience_ms: 1_000 })
    world.pass(1_000)
    expect(world.bells).toHaveLength(1)
  })

  test('a backlog rings a surface whose turn is unknown after reconnect_patience_ms, and not before', () => {
    const world = machineWorld()
    world.accepts()
    world.connects()
    world.reports({ turn: 'unknown' })
    world.pass(299_999)
    expect(world.bells).toHaveLength(0)
    world.pass(1)
    expect(reasons(world)).toEqual(['backlog'])
  })

  test('a backlog does not ring an unknown turn that becomes known in time', () => {
    const world = machineWorld()
    world.accepts()
    world.connects()
    world.reports({ turn: 'unknown' })
    world.pass(299_000)
    world.reports({ turn: 'busy' })
    world.pass(600_000)
    expect(world.bells).toHaveLength(0)
  })

  test('a backlog rings also over a link that drops repeatedly', () => {
    const world = withBacklog()
    for (const connected_ms of [5_000, 5_000]) {
      world.pass(connected_ms)
      world.linkLost()
      world.accepts()
      world.connects()
      expect(world.bells).toHaveLength(0)
    }
    world.pass(5_000)
    expect(reasons(world)).toEqual(['backlog'])
  })

  test('a backlog of quiet signals does not shorten the wait of a loud one', () => {
    const world = readyWorld()
    world.linkLost()
    world.accepts(0)
    world.connects()
    world.pass(1_000_000)
    world.linkLost()
    world.accepts()
    world.connects()
    world.pass(14_999)
    expect(world.bells).toHaveLength(0)
    world.pass(1)
    expect(world.bells).toHaveLength(1)
  })

  test('a backlog waits from the moment the surface attaches, if it attaches later', () => {
    const world = machineWorld()
    world.accepts()
    world.connects()
    world.pass(1_000_000)
    world.reports()
    world.pass(14_999)
    expect(world.bells).toHaveLength(0)
    world.pass(1)
    expect(world.bells).toHaveLength(1)
  })

  test('a backlog rings an idle surface at once if reconnect_ring is idle', () => {
    const world = withBacklog({ reconnect_ring: 'idle' })
    expect(reasons(world)).toEqual(['backlog'])
  })

  test('a backlog includes signals pushed while it is listed', () => {
    const world = readyWorld()
    world.linkLost()
    world.accepts()
    world.hubAnswers = false
    world.connects()
    const late = world.accepts()
    world.tell({ type: 'SIGNAL_PUSHED', entry: late, total: 2 })
    world.hubAnswersNow()
    expect(world.bells).toHaveLength(0)
    expect(world.context.history.pending.total).toBe(2)
    world.hubAnswers = true
    world.turnBegins()
    world.turnEnds()
    expect(world.bells.map(({ doorbell }) => doorbell.pending_count)).toEqual([2])
  })

  test('a backlog rings at once if there was activity while the list was requested', () => {
    const world = readyWorld()
    world.linkLost()
    world.turnBegins()
    world.accepts()
    world.hubAnswers = false
    world.connects()
    world.turnEnds()
    expect(world.bells).toHaveLength(0)
    world.hubAnswers = true
    world.hubAnswersNow()
    expect(reasons(world)).toEqual(['backlog'])
  })

  test('a backlog drained by another session rings nothing', () => {
    const world = readyWorld()
    world.turnBegins()
    world.pushes()
    world.linkLost()
    world.losesSilently()
    world.connects()
    world.turnEnds()
    world.pass(3_600_000)
    expect(world.bells).toHaveLength(0)
  })

  test('a backlog that expired does not affect the reason of the next doorbell', () => {
    const world = withBacklog()
    world.expires()
    world.pushes()
    expect(reasons(world)).toEqual(['signal'])
  })

  test('a backlog does not repeat a doorbell in the turn that was rung before the link dropped', () => {
    const world = readyWorld()
    world.pushes()
    world.linkLost()
    world.connects()
    world.pushes()
    expect(world.bells).toHaveLength(1)
  })
})

describe('a report at the end of a turn', () => {
  test('a report at the end of a turn is answered with the doorbell, which then counts as rung', () => {
    const world = readyWorld()
    world.turnBegins()
    const entry = world.pushes()
    const answer = world.reports({ turn: 'busy', take: true })
    expect(answer).toMatchObject({ signal_id: entry.signal_id, reason: 'signal' })
    world.turnBegins(true)
    world.turnEnds()
    world.pass(REMINDER_MS)
    expect(world.context.doorbells_rung).toBe(2)
  })

  test('a report is answered with null if nothing is pending or it takes no doorbell', () => {
    const world = readyWorld()
    expect(world.turnEndsAsking()).toBeNull()
    world.turnBegins()
    world.pushes()
    expect(world.reports({ turn: 'busy' })).toBeNull()
  })

  test('a report is answered with null at once while the hub is away', () => {
    const world = readyWorld()
    world.linkLost()
    expect(world.turnEndsAsking()).toBeNull()
    world.hubAnswers = false
    world.connects()
    expect(world.state).toBe('RECONCILING')
    expect(world.turnEndsAsking()).toBeNull()
  })

  test('a report is answered with null after take_answer_ms when the hub is slow, and the doorbell is sent another way', () => {
    const world = readyWorld()
    world.turnBegins()
    world.pushes()
    world.hubAnswers = false
    expect(world.turnEndsAsking()).toBeUndefined()
    world.pass(1_000)
    expect([...world.answers.values()].at(-1)).toBeNull()
    expect(world.state).toBe('EMITTING')
    world.hubAnswersNow()
    expect(world.bells.map(({ taken }) => taken)).toEqual([false])
  })

  test('a report carries the doorbell even when it was about to be sent over the connection', () => {
    const world = readyWorld()
    world.hubAnswers = false
    world.pushes()
    expect(world.state).toBe('EMITTING')
    world.turnEndsAsking()
    world.hubAnswersNow()
    expect(world.bells.map(({ taken }) => taken)).toEqual([true])
  })

  test('an abandoned report costs no doorbell', () => {
    const world = readyWorld()
    world.turnBegins()
    world.pushes()
    world.hubAnswers = false
    world.reports({ turn: 'busy', take: true })
    world.tell({ type: 'REPORT_ABANDONED', request: world.context.take?.request ?? -1 })
    world.hubAnswersNow()
    expect(world.bells).toHaveLength(0)
  })

  test('a report is answered with null when a newer report arrives before the response', () => {
    const world = readyWorld()
    world.turnBegins()
    world.pushes()
    world.hubAnswers = false
    world.reports({ turn: 'idle', take: true })
    world.turnBegins()
    world.hubAnswersNow()
    expect(world.bells).toHaveLength(0)
    expect([...world.answers.values()]).not.toContain(undefined)
  })

  test('a report is the only way to ring a pull surface', () => {
    const world = machineWorld()
    world.connects()
    world.reports({ delivery: 'pull' })
    world.pushes()
    expect(world.bells).toHaveLength(0)
    expect(world.reports({ delivery: 'pull', turn_seq: 1, take: true })).toMatchObject({ pending_count: 1 })
  })
})

describe('a doorbell that the surface does not take', () => {
  test('a failed doorbell is retried later, counted as surface_inject_failed, and makes delivery degraded', () => {
    const world = readyWorld()
    world.surfaceAnswers = { accepted: false, proof: 'failed' }
    world.pushes()
    expect(world.errors).toEqual(['surface_inject_failed'])
    expect(world.delivery).toBe('degraded')
    world.pass(9_999)
    expect(world.bells).toHaveLength(1)
    world.surfaceAnswers = { accepted: true, proof: 'sent' }
    world.pass(1)
    expect(world.bells).toHaveLength(2)
    expect(world.delivery).toBe('ok')
  })

  test('a doorbell that fails with a turn and a new session each time is not retried in a loop', () => {
    const world = readyWorld({ receipts: false })
    world.surfaceAnswers = null
    world.pushes()
    for (let run = 1; run <= 20; run += 1) {
      world.turnBegins()
      world.reports({ turn: 'idle', session_id: `run-${run}` })
      const { doorbell_id, signal_id } = world.bells.at(-1)!.doorbell
      world.tell({ type: 'BELL_ANSWERED', doorbell_id, signal_id, accepted: false, proof: 'failed' })
    }
    expect(world.bells).toHaveLength(1)
    world.pass(10_000)
    expect(world.bells).toHaveLength(2)
  })

  test('an accepted doorbell whose turn failed under a new session is limited by the reminders', () => {
    const world = readyWorld({ receipts: false })
    world.pushes()
    for (let run = 1; run <= 20; run += 1) {
      const before = world.bells.length
      world.turnBegins()
      world.reports({ turn: 'idle', session_id: `run-${run}` })
      world.passUntilBell(LONGEST_REMINDER_MS, before)
    }
    expect(world.bells).toHaveLength(4)
    expect(world.delivery).toBe('degraded')
  })

  test('a deferred doorbell rings after a while or at the next boundary, without an error', () => {
    const world = readyWorld()
    world.surfaceAnswers = { accepted: false, proof: 'deferred' }
    world.pushes()
    world.pass(10_000)
    expect(world.bells).toHaveLength(2)
    expect(world.context.doorbells_rung).toBe(0)
    world.surfaceAnswers = { accepted: true, proof: 'sent' }
    world.turnBegins()
    world.turnEnds()
    expect(world.bells).toHaveLength(3)
    expect(world.context.doorbells_rung).toBe(1)
    expect(world.errors).toEqual([])
  })

  test('a refusal of a doorbell that the agent has seen is ignored: it was rung, and no other follows', () => {
    const world = readyWorld()
    world.surfaceAnswers = null
    world.pushes()
    world.turnBegins(true)
    const { doorbell_id, signal_id } = world.bells[0]!.doorbell
    world.tell({ type: 'BELL_ANSWERED', doorbell_id, signal_id, accepted: false, proof: 'failed' })
    expect(world.context).toMatchObject({ doorbells_rung: 1, history: { last_proof: 'confirmed' } })
    expect(world.errors).toEqual([])
    expect(world.delivery).toBe('ok')
  })

  test.each(['failed', 'deferred'] as const)(
    'a doorbell reported as %s that is seen after all was rung',
    (proof) => {
      const world = readyWorld()
      world.surfaceAnswers = { accepted: false, proof }
      world.pushes()
      expect(world.context.doorbells_rung).toBe(0)
      world.turnBegins(true)
      expect(world.context.doorbells_rung).toBe(1)
      const stages = world.effects.flatMap((effect) =>
        effect.type === 'reportDoorbell' ? [effect.params.stage] : [],
      )
      expect(stages).toEqual(['requested', 'accepted', 'seen'])
    },
  )

  test('a doorbell reported as failed after the agent saw it and drained was rung without an error', () => {
    const world = readyWorld()
    world.surfaceAnswers = null
    world.pushes()
    world.turnBegins(true)
    world.drains()
    const { doorbell_id, signal_id } = world.bells[0]!.doorbell
    world.tell({ type: 'BELL_ANSWERED', doorbell_id, signal_id, accepted: false, proof: 'failed' })
    expect(world.context.doorbells_rung).toBe(1)
    expect(world.errors).toEqual([])
  })

  test('a doorbell reported as failed that is seen after a drain answered it was rung', () => {
    const world = readyWorld()
    world.surfaceAnswers = { accepted: false, proof: 'failed' }
    world.pushes()
    world.drains()
    world.turnBegins(true)
    world.turnBegins(true)
    expect(world.context.doorbells_rung).toBe(1)
  })

  test('a failed doorbell does not degrade delivery after another session drained its signal', () => {
    const world = readyWorld()
    world.surfaceAnswers = { accepted: false, proof: 'failed' }
    world.pushes()
    world.drains(1, 'cli:by-hand')
    expect(world.delivery).toBe('ok')
  })

  test('no other doorbell is sent before the surface has responded', () => {
    const world = readyWorld()
    world.surfaceAnswers = null
    world.pushes()
    world.turnBegins()
    world.turnEnds()
    world.pass(3_600_000)
    expect(world.bells).toHaveLength(1)
  })

  test('a doorbell whose receipt arrives with the response is seen', () => {
    const world = readyWorld()
    world.surfaceAnswers = { accepted: true, proof: 'confirmed' }
    world.pushes()
    world.pass(299_999)
    expect(world.bells).toHaveLength(1)
    expect(world.effects.filter(({ type }) => type === 'reportDoorbell')).toMatchObject([
      { params: { stage: 'requested' } },
      { params: { stage: 'accepted' } },
      { params: { stage: 'seen' } },
    ])
  })
})

describe('an absent surface', () => {
  test('an absent surface makes delivery degraded and is counted once, however many signals wait', () => {
    const world = readyWorld()
    world.surfaceLeaves()
    world.surfaceLeaves()
    world.pushes()
    world.pushes()
    expect(world.delivery).toBe('degraded')
    expect(world.errors).toEqual(['surface_unavailable'])
    expect(world.state).toBe('CONNECTED')
    world.reports()
    expect(world.delivery).toBe('ok')
    world.surfaceLeaves()
    expect(world.errors).toEqual(['surface_unavailable', 'surface_unavailable'])
  })

  test('a surface that never attached is counted once: after a grace, or when a signal arrives', () => {
    const world = machineWorld()
    world.connects()
    world.pass(4_999)
    expect(world.errors).toEqual([])
    world.pass(3_600_000)
    expect(world.errors).toEqual(['surface_unavailable'])
    const other = machineWorld()
    other.connects()
    other.pushes()
    other.pass(3_600_000)
    expect(other.errors).toEqual(['surface_unavailable'])
  })

  test('a surface that returns as the same idle session is rung again for an unseen doorbell', () => {
    const world = readyWorld()
    world.reports({ turn_seq: 7 })
    world.pushes()
    world.surfaceLeaves()
    world.reports({ turn_seq: 0 })
    expect(world.bells).toHaveLength(1)
    world.pass(10_000)
    expect(world.bells).toHaveLength(2)
  })

  test('a new shim with a higher turn counter is not rung twice in the turn of the doorbell', () => {
    const world = readyWorld()
    world.pushes()
    world.surfaceLeaves()
    world.reports({ turn_seq: 1_000 })
    expect(world.bells).toHaveLength(1)
    world.pass(9_999)
    expect(world.bells).toHaveLength(1)
    world.pass(1)
    expect(world.bells).toHaveLength(2)
  })

  test.each(['idle', 'unknown'] as const)(
    'a surface that returns %s and reports the doorbell as seen is reminded later',
    (turn) => {
      const world = readyWorld()
      world.pushes()
      const seen_doorbell_id = world.bells[0]!.doorbell.doorbell_id
      world.surfaceLeaves()
      world.reports({ turn, turn_seq: 1, seen_doorbell_id })
      world.reports({ turn: 'idle', turn_seq: 1, seen_doorbell_id })
      world.pass(REMINDER_MS - 1)
      expect(world.bells).toHaveLength(1)
      world.pass(1)
      expect(world.bells).toHaveLength(2)
    },
  )

  test('a surface that reports the doorbell as seen only later is not left waiting', () => {
    const world = readyWorld()
    world.pushes()
    const seen_doorbell_id = world.bells[0]!.doorbell.doorbell_id
    world.surfaceLeaves()
    world.reports({ turn_seq: 1 })
    world.reports({ turn_seq: 1, seen_doorbell_id })
    world.pass(299_999)
    expect(world.bells).toHaveLength(1)
    world.pass(1)
    expect(world.bells).toHaveLength(2)
  })

  test('a surface that returns with the same turn counter after its turn is reminded later', () => {
    const world = readyWorld()
    world.pushes()
    world.turnBegins(true)
    world.surfaceLeaves()
    world.reports({ turn: 'idle' })
    expect(world.bells).toHaveLength(1)
    world.pass(REMINDER_MS)
    expect(world.bells).toHaveLength(2)
  })

  test('a surface without a session does not inherit the name of the previous one', () => {
    const world = readyWorld()
    world.reports({ session_id: null })
    expect(factsOf(world.context.history)).toMatchObject({ attached: true, session_id: null })
    const pull = machineWorld()
    pull.reports({ delivery: 'pull' })
    pull.reports({ delivery: 'pull', session_id: null })
    expect(factsOf(pull.context.history)).toMatchObject({ attached: true, session_id: 'session-1' })
  })

  test('a surface whose shim was killed in the turn of a doorbell is rung again if nothing was drained', () => {
    const world = readyWorld()
    world.pushes()
    world.turnBegins(true)
    world.surfaceLeaves()
    world.reports({ turn: 'busy', turn_seq: 0 })
    world.reports({ turn: 'idle', turn_seq: 0 })
    expect(world.bells).toHaveLength(1)
    world.pass(REMINDER_MS)
    expect(world.bells).toHaveLength(2)
  })
})

test('a surface whose session changes during the check is rung only for signals it can drain', () => {
  const world = readyWorld()
  world.turnBegins()
  world.pushes()
  world.hubAnswers = false
  world.turnEnds()
  expect(world.state).toBe('EMITTING')
  world.reports({ session_id: 'session-2' })
  // The response for the previous session arrives first, and the new session's queue is empty.
  world.hubAnswersNow()
  expect(world.bells).toHaveLength(0)
  world.losesSilently()
  world.hubAnswersNow()
  expect(world.bells).toHaveLength(0)
  expect(world.state).toBe('CONNECTED')
})

test('a higher turn counter of another shim of the session does not count as a passed turn', () => {
  const world = readyWorld()
  world.pushes()
  const further_on = world.report.turn_seq + 1_000_000
  world.reports({ turn_seq: further_on }, false)
  expect(world.bells).toHaveLength(1)
  world.pass(LIMITS.bell_receipt_ms - 1)
  expect(world.bells).toHaveLength(1)
  world.turnBegins(true)
  world.turnEnds()
  world.pass(REMINDER_MS)
  expect(world.bells).toHaveLength(2)
})

test('a manual request does not apply to signals that arrive after an empty list', () => {
  const world = readyWorld()
  world.turnBegins()
  world.pushes()
  expect(world.notify()).toEqual({ accepted: true, reason: 'mid_turn' })
  world.linkLost()
  world.losesSilently()
  world.hubAnswers = false
  world.connects()
  // Pushed before the list, and newer than it.
  const late = world.accepts()
  world.losesSilently()
  world.tell({ type: 'SIGNAL_PUSHED', entry: late, total: 1 })
  const { peek_id } = world.context.reconcile!
  const list = { signals: [], total: 0, as_of_seq: late.seq - 1, doorbell_id: '01B00000000000000000000099' }
  world.tell({ type: 'PENDING_LISTED', peek_id, ...list })
  expect(world.context.history).toMatchObject({ manual: false, pending: { total: 1 } })
})

test('the outcome of the last doorbell is recorded also if the agent drained before the surface responded', () => {
  const world = readyWorld()
  world.surfaceAnswers = { accepted: false, proof: 'failed' }
  world.pushes()
  expect(world.context.history.last_proof).toBe('failed')
  world.drains()
  world.surfaceAnswers = null
  world.pushes()
  world.turnBegins()
  world.drains()
  const { doorbell_id, signal_id } = world.bells.at(-1)!.doorbell
  world.tell({ type: 'BELL_ANSWERED', doorbell_id, signal_id, accepted: true, proof: 'sent' })
  expect(world.context.history.last_proof).toBe('sent')
  world.reports({ turn: 'idle', seen_doorbell_id: doorbell_id })
  expect(world.context.history.last_proof).toBe('confirmed')
})

test('a doorbell names no signal that left the queue after its last report', () => {
  const world = readyWorld()
  const first = world.pushes(5)
  const gone = world.pushes(3)
  world.turnBegins(true)
  world.losesSilently()
  world.takesBack([first])
  world.accepts(3)
  world.turnEnds()
  expect(world.bells).toHaveLength(2)
  expect(world.bells[1]!.doorbell.signal_id).not.toBe(gone.signal_id)
})

test('a surface that was restarted by hand is rung at once, whatever the outcome of earlier doorbells', () => {
  const world = readyWorld()
  world.pushes()
  for (let death = 0; death < 3; death += 1) world.releases(world.drains())
  const before = world.bells.length
  world.tell({ type: 'RESUME_REQUESTED' })
  expect(world.context.history.last_proof).toBeNull()
  world.reports({ turn_seq: 0 })
  expect(world.bells).toHaveLength(before + 1)
})

describe('notify_surface', () => {
  test('notify_surface rings for a quiet signal that would never ring by itself', () => {
    const world = readyWorld()
    world.pushes(0)
    expect(world.notify()).toEqual({ accepted: true })
    expect(reasons(world)).toEqual(['manual'])
  })

  test('notify_surface ends a hold and overrides used-up reminders', () => {
    const world = readyWorld({ redoorbell_max: 0 })
    world.linkLost()
    world.accepts()
    world.connects()
    expect(world.notify()).toEqual({ accepted: true })
    world.turnBegins(true)
    world.turnEnds()
    expect(world.delivery).toBe('degraded')
    expect(world.notify()).toEqual({ accepted: true })
    expect(reasons(world)).toEqual(['manual', 'manual'])
  })

  test('notify_surface during a turn is deferred to its end', () => {
    const world = readyWorld()
    world.pushes(0)
    world.turnBegins()
    expect(world.notify()).toEqual({ accepted: true, reason: 'mid_turn' })
    expect(world.bells).toHaveLength(0)
    world.turnEnds()
    expect(reasons(world)).toEqual(['manual'])
  })

  test.each([
    ['drained by another session', (world: MachineWorld) => void world.drains(1, 'cli:by-hand')],
    ['expired', (world: MachineWorld) => world.expires()],
  ])('a request by notify_surface ends if everything is %s while the list is requested', (_, leaves) => {
    const world = readyWorld()
    world.pushes(0)
    world.turnBegins()
    world.notify()
    world.linkLost()
    world.hubAnswers = false
    world.connects()
    leaves(world)
    const quiet = world.accepts(0)
    world.tell({ type: 'SIGNAL_PUSHED', entry: quiet, total: 1 })
    world.hubAnswers = true
    world.hubAnswersNow()
    world.turnEnds()
    expect(world.bells).toHaveLength(0)
  })

  test('a request by notify_surface is answered by an unreported drain: later quiet signals do not ring', () => {
    const world = readyWorld()
    world.pushes()
    world.turnBegins(true)
    world.notify()
    world.linkLost()
    world.losesSilently()
    world.accepts(0)
    world.connects()
    world.turnEnds()
    expect(world.bells).toHaveLength(1)
  })

  test('a request by notify_surface is kept over a link that drops while signals are pending', () => {
    const world = readyWorld()
    world.pushes(0)
    world.turnBegins()
    world.notify()
    world.linkLost()
    world.connects()
    world.turnEnds()
    expect(reasons(world)).toEqual(['manual'])
  })

  test('a request by notify_surface during a turn rings nothing if the agent then drains everything', () => {
    const world = readyWorld()
    world.pushes(0)
    world.turnBegins()
    world.notify()
    world.drains()
    world.turnEnds()
    world.pushes(0)
    expect(world.bells).toHaveLength(0)
  })

  test('notify_surface is refused with nothing pending, with a doorbell out, without a surface, without a hub', () => {
    const world = readyWorld()
    expect(world.notify()).toEqual({ accepted: false, reason: 'nothing_pending' })
    world.pushes()
    expect(world.notify()).toEqual({ accepted: false, reason: 'already_rung' })
    world.surfaceLeaves()
    expect(world.notify()).toEqual({ accepted: false, reason: 'surface_absent' })
    world.drains()
    expect(world.notify()).toEqual({ accepted: false, reason: 'nothing_pending' })
    world.linkLost()
    expect(world.notify()).toEqual({ accepted: false, reason: 'not_connected' })
  })
})
