import { describe, expect, test } from 'vitest'
import { LIMITS } from '../../../src/contracts/limits.ts'
import { factsOf } from '../../../src/daemon/history.ts'
import { machineWorld, readyWorld, RULES, type MachineWorld } from '../../support/machine-world.ts'

const LONGEST_REMINDER_MS = Math.max(...LIMITS.reminders_ms)
/** Until the first reminder. */
const REMINDER_MS = LIMITS.reminders_ms[0]

const reasons = (world: { bells: { doorbell: { reason: string } }[] }) =>
  world.bells.map(({ doorbell }) => doorbell.reason)

describe('a healthy, idle surface', () => {
  test('is rung at once for a push', () => {
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

  test('is rung once for a push that is repeated', () => {
    const world = readyWorld()
    const entry = world.pushes()
    world.turnBegins(true)
    world.repeatsPush(entry)
    world.repeatsPush(entry)
    expect(world.bells).toHaveLength(1)
  })

  test('is not rung for a quiet push, and is told of it with the next loud one', () => {
    const world = readyWorld()
    world.pushes(0)
    expect(world.bells).toHaveLength(0)
    const loud = world.pushes(1)
    expect(world.bells.map(({ doorbell }) => [doorbell.signal_id, doorbell.pending_count])).toEqual([
      [loud.signal_id, 2],
    ])
  })

  test('is rung for the highest priority first, then the oldest', () => {
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
  test('is never rung into: pushes during it make one bell after it', () => {
    const world = readyWorld()
    world.turnBegins()
    world.pushes()
    world.pushes()
    world.pushes()
    expect(world.bells).toHaveLength(0)
    world.turnEnds()
    expect(world.bells.map(({ doorbell }) => doorbell.pending_count)).toEqual([3])
  })

  test('that stays unknown counts as running, and after a while as one that is never rung', () => {
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

  test('that is unknown counts as running', () => {
    const world = machineWorld()
    world.connects()
    world.reports({ turn: 'unknown' })
    world.pushes()
    expect(world.bells).toHaveLength(0)
    world.reports({ turn: 'idle' })
    expect(world.bells).toHaveLength(1)
  })

  test('of twelve signals gathered while away begins with one bell, and the drain returns all twelve', () => {
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

  test('five signals and five turns without a drain make five bells, each naming another signal', () => {
    const world = readyWorld()
    const entries = [1, 2, 3, 4, 5].map(() => world.pushes())
    for (let turn = 1; turn <= 4; turn += 1) {
      world.ignoresTurn()
      expect(world.bells).toHaveLength(turn + 1)
    }
    const named = world.bells.map(({ doorbell }) => doorbell.signal_id)
    expect(named).toEqual(entries.map(({ signal_id }) => signal_id))
  })

  test('that a bell began hears no other until it has ended', () => {
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
  test('that leaves something, with the agent idle, is followed by a bell for the rest', () => {
    const world = readyWorld()
    world.pushes()
    world.pushes()
    world.drains(1)
    expect(world.bells.map(({ doorbell }) => doorbell.pending_count)).toEqual([1, 1])
  })

  test('of one by somebody else does not answer the bell: none follows before its turn has ended', () => {
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

  test('of everything by somebody else leaves nothing to ring for, and the next push rings', () => {
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

  test('by somebody else still shows that the bells are answered, though not by whom they were for', () => {
    const world = readyWorld()
    for (let n = 0; n < 12; n += 1) world.pushes()
    // An agent may drain under a name that its surface does not know, one signal in each turn.
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

  test('by somebody else ends no hold', () => {
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

  test.each(['session-1', 'anonymous:ada'])('by %s is the agent’s own', (session_id) => {
    const world = readyWorld()
    world.pushes()
    world.pushes()
    world.drains(1, session_id)
    expect(world.bells).toHaveLength(2)
  })

  test('is the agent’s own where the surface cannot name its session', () => {
    const world = machineWorld()
    world.connects()
    world.reports({ session_id: null })
    world.pushes()
    world.pushes()
    world.drains(1, 'whoever')
    expect(world.bells).toHaveLength(2)
  })

  test('by somebody else while the list is on its way leaves the bell out', () => {
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
    'a bell whose signal is %s while a list is on its way that was %s stays the agent’s',
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
      // Where there was one before, nobody waits for this any more.
      world.hubAnswersNow()
      expect(world.state).toBe('CONNECTED')
      world.pushes()
      expect(world.bells).toHaveLength(1)
      world.turnBegins(true)
      world.turnEnds()
      expect(world.bells).toHaveLength(2)
    },
  )

  test('that a list tells of, which nobody came to say, answers the bell', () => {
    const world = readyWorld()
    world.pushes()
    world.linkLost()
    world.losesSilently()
    world.connects()
    world.pushes()
    expect(world.bells).toHaveLength(2)
  })

  test('of everything by another session leaves the agent its bell: what comes then is no second one in its turn', () => {
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

  test('of everything clears the bell: the next push rings at once', () => {
    const world = readyWorld()
    world.pushes()
    world.turnBegins(true)
    world.drains()
    world.turnEnds()
    expect(world.bells).toHaveLength(1)
    world.pushes()
    expect(world.bells).toHaveLength(2)
  })

  test('that nobody told this daemon of is found out before the bell leaves', () => {
    const world = readyWorld()
    world.turnBegins()
    world.pushes()
    world.losesSilently()
    world.turnEnds()
    expect(world.bells).toHaveLength(0)
    expect(world.context.history.pending.total).toBe(0)
    expect(world.state).toBe('CONNECTED')
  })

  test('that nobody told of and that left something leads to a bell for what is left', () => {
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

  test('that a list knew of before it was told leaves the agent the bell for what came after', () => {
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

  test('that is told late leaves the bell also where several are left, and a look found less than was known', () => {
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

  test('while the list is on its way shows that the agent is awake: it is rung for the rest, as for something new', () => {
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

  test('that is taken back rings again, also for signals named before', () => {
    const world = readyWorld()
    world.pushes()
    world.turnBegins(true)
    const taken = world.drains()
    world.turnEnds()
    world.releases(taken)
    expect(world.bells).toHaveLength(2)
    expect(world.bells[1]?.doorbell.signal_id).toBe(taken[0]?.signal_id)
  })

  test('that is taken back again and again rings at once only the first time, then ever later', () => {
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

  test('that is kept after some that were taken back ends the rest, and so does a push', () => {
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

  test('of quiet signals that is taken back stays quiet', () => {
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

describe('a lost bell', () => {
  test('is armed again after bell_receipt_ms of idleness, each one later than the one before', () => {
    const world = readyWorld()
    world.pushes()
    world.pass(9_999)
    expect(world.bells).toHaveLength(1)
    world.pass(300_000)
    const times = world.bells.map(({ at }) => at - (world.bells[0]?.at ?? 0))
    expect(times).toEqual([0, 10_000, 30_000, 70_000, 150_000])
  })

  test('lost three times in a row makes delivery degraded until one is seen', () => {
    const world = readyWorld()
    world.pushes()
    world.pass(69_999)
    expect(world.delivery).toBe('ok')
    world.pass(1)
    expect(world.delivery).toBe('degraded')
    world.turnBegins(true)
    expect(world.delivery).toBe('ok')
  })

  test('is not lost while the agent works, nor once it was seen', () => {
    const world = readyWorld()
    world.pushes()
    world.pass(5_000)
    world.turnBegins(true)
    world.pass(3_600_000)
    expect(world.bells).toHaveLength(1)
  })

  test('on a surface that gives no receipts waits for the next boundary', () => {
    const world = readyWorld({ receipts: false })
    world.pushes()
    world.pass(60_000)
    expect(world.bells).toHaveLength(1)
    world.turnBegins()
    world.turnEnds()
    expect(world.bells).toHaveLength(2)
  })

  test('on a surface that gives no receipts is not lost for ever: patience rings it', () => {
    const world = readyWorld({ receipts: false })
    world.pushes()
    world.pass(299_999)
    expect(world.bells).toHaveLength(1)
    world.pass(1)
    expect(world.bells).toHaveLength(2)
  })

  test('given in the answer to a report is found lost when the surface stays idle', () => {
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

describe('a bell that the surface still holds', () => {
  const holding = (rules = {}) => {
    const world = readyWorld(rules)
    world.surfaceHolds = true
    world.pushes()
    return world
  }

  test('is not lost, however long the surface stands idle, and is asked about again', () => {
    const world = holding()
    world.pass(3_600_000)
    expect(world.bells).toHaveLength(1)
    world.surfaceHolds = false
    world.pass(10_000)
    expect(world.bells).toHaveLength(2)
  })

  test.each([true, null])('counts as failed after bell_held_max_ms, until it is gone (%j)', (holds) => {
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
  })

  test('is not asked about before it could be lost', () => {
    const world = holding()
    world.pass(9_999)
    expect(world.probes).toEqual([])
    world.pass(1)
    expect(world.probes).toHaveLength(1)
  })

  test('is not followed by another because a turn has passed that was not its own, nor for a new signal', () => {
    const world = holding()
    world.pass(6_200)
    world.turnBegins()
    world.turnEnds()
    world.pushes()
    world.pass(600_000)
    expect(world.bells).toHaveLength(1)
  })

  test('is not followed by another after a drain that came without it', () => {
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

  test('is known from a report: the daemon asks again as soon as a report says that it is gone', () => {
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

  test('of an earlier daemon is known from the first report', () => {
    const world = machineWorld()
    world.surfaceHolds = null
    world.accepts()
    world.connects()
    world.reports({ outstanding_doorbell_id: '01B00000000000000000000077' })
    world.pushes()
    world.pass(600_000)
    expect(world.bells).toHaveLength(0)
  })

  test('is taken for held where the surface gives no answer', () => {
    const world = readyWorld()
    world.surfaceHolds = null
    world.pushes()
    world.pass(600_000)
    expect(world.bells).toHaveLength(1)
    world.surfaceHolds = false
    world.pass(10_000)
    expect(world.bells).toHaveLength(2)
  })

  test('is waited for while the surface has not answered, and an answer to an older question counts for nothing', () => {
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

  test('is consumed with its receipt: nothing is asked any more', () => {
    const world = readyWorld()
    world.pushes()
    world.turnBegins(true)
    world.turnEnds()
    world.pushes()
    expect(world.bells).toHaveLength(2)
    expect(world.probes).toEqual([])
  })

  test('is asked about after an attempt that broke, because the client may have it all the same', () => {
    const world = readyWorld()
    world.surfaceAnswers = { accepted: false, proof: 'failed' }
    world.surfaceHolds = true
    world.pushes()
    world.pushes()
    world.pass(600_000)
    expect(world.bells).toHaveLength(1)
  })

  test.each(['deferred', 'unavailable'] as const)('is not asked about where the surface was %s', (proof) => {
    const world = readyWorld()
    world.surfaceAnswers = { accepted: false, proof }
    world.surfaceHolds = true
    world.pushes()
    world.pass(10_000)
    expect(world.probes).toEqual([])
    expect(world.bells).toHaveLength(2)
  })

  test('is not asked about where the surface gives no receipts', () => {
    const world = readyWorld({ receipts: false })
    world.pushes()
    world.pass(300_000)
    expect(world.bells).toHaveLength(2)
    expect(world.probes).toEqual([])
  })

  test('keeps the answer at the end of a turn empty, and refuses a person who asks for another', () => {
    const world = readyWorld()
    world.pushes()
    const outstanding_doorbell_id = world.bells[0]!.doorbell.doorbell_id
    world.turnBegins()
    world.pushes()
    expect(world.reports({ turn: 'busy', take: true, outstanding_doorbell_id })).toBeNull()
    world.reports({ turn: 'idle', outstanding_doorbell_id })
    expect(world.notify()).toEqual({ accepted: false, reason: 'already_rung' })
  })

  test('in a session that has gone holds back no bell for the next', () => {
    const world = holding()
    world.reports({ session_id: 'session-2', turn_seq: 0 })
    expect(world.bells).toHaveLength(2)
  })

  test('is asked about no more by a question to a shim that another has replaced', () => {
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

  test('no bell leaves for five quiet minutes', () => {
    const world = interruptedWorld()
    world.pass(299_999)
    expect(world.bells).toHaveLength(0)
    world.pass(1)
    expect(world.bells).toHaveLength(1)
  })

  test('the end of the turn of what the person sends rings', () => {
    const world = interruptedWorld()
    world.pass(60_000)
    world.reports({ turn: 'busy', turn_seq: world.report.turn_seq + 1, ...withoutInterrupt })
    expect(world.bells).toHaveLength(0)
    world.turnEnds()
    expect(world.bells).toHaveLength(1)
  })

  test('notify_surface rings', () => {
    const world = interruptedWorld()
    expect(world.notify()).toEqual({ accepted: true })
    expect(world.bells).toHaveLength(1)
  })

  test('a shim that comes back without knowing of it changes nothing', () => {
    const world = interruptedWorld()
    world.surfaceLeaves()
    world.reports(withoutInterrupt)
    world.pass(299_999)
    expect(world.bells).toHaveLength(0)
    world.pass(1)
    expect(world.bells).toHaveLength(1)
  })

  test('the shim itself may end it', () => {
    const world = interruptedWorld()
    world.reports(withoutInterrupt)
    expect(world.bells).toHaveLength(1)
  })

  test('a second interrupt begins the five minutes again', () => {
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
  test('is not rung, not even by hand, and says why', () => {
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

  test('is rung where the persona is headless', () => {
    const world = readyWorld({ headless: true })
    world.reports({ window: false })
    world.pushes()
    expect(world.bells).toHaveLength(1)
    expect(world.delivery_reason).toBeNull()
  })

  test('gets no bell in the answer at the end of a turn', () => {
    const world = readyWorld()
    world.turnBegins()
    world.pushes()
    expect(world.reports({ turn: 'idle', take: true, window: false })).toBeNull()
  })
})

describe('the reason why nothing is delivered', () => {
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
  ] as const)('is %s', (reason, happens) => {
    const world = readyWorld()
    expect(world.delivery_reason).toBeNull()
    happens(world)
    expect(world.delivery_reason).toBe(reason)
  })

  test('is the cause and not its effect: a lost hub before a missing client', () => {
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

  test('is reminded 30 s, 2 min and 10 min after the turns that it ignored, then delivery is degraded', () => {
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

  test('is reminded at a boundary: not before a turn of its own that runs by then has ended', () => {
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

  test('is reminded no earlier in the answer at the end of its turn', () => {
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

  test('is rung once for a new push even then', () => {
    const world = readyWorld()
    world.pushes()
    ignoreTurns(world, 4)
    const news = world.pushes()
    ignoreTurns(world, 4)
    expect(world.bells).toHaveLength(5)
    expect(world.bells[4]?.doorbell.signal_id).toBe(news.signal_id)
    expect(world.delivery).toBe('degraded')
  })

  test('is not rung because an old push is repeated', () => {
    const world = readyWorld()
    const entry = world.pushes()
    ignoreTurns(world, 4)
    world.repeatsPush(entry)
    expect(world.bells).toHaveLength(4)
    expect(world.context.history.pending.entries).toHaveLength(1)
  })

  test('is trusted again after a drain', () => {
    const world = readyWorld()
    world.pushes()
    ignoreTurns(world, 4)
    world.drains()
    expect(world.delivery).toBe('ok')
    world.pushes()
    ignoreTurns(world, 3)
    expect(world.bells).toHaveLength(8)
  })

  test('passes its record on to nobody who comes after an empty window', () => {
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

  test('is rung as for something new where only the look before the bell tells of it', () => {
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

  test('is rung as for something new for what a look found that no bell followed', () => {
    const world = readyWorld()
    world.pushes()
    ignoreTurns(world, 2)
    world.turnBegins(true)
    // What it knows does not add up, so it looks at everything.
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

  test('is rung once for what came back to the queue while the hub was away', () => {
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

  test('passes its record on to no other session: that one is rung for the same signals', () => {
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

  test('gets no new record by taking turns with another session', () => {
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

  test('is rung no second time where redoorbell_max is 0', () => {
    const world = readyWorld({ redoorbell_max: 0 })
    world.pushes()
    ignoreTurns(world, 2)
    expect(world.bells).toHaveLength(1)
    expect(world.delivery).toBe('degraded')
  })
})

describe('two sessions that take turns at the surface', () => {
  test('are rung once each: the first is not rung again in the turn of its bell', () => {
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

  test('are not rung again for what became of the other’s bell, nor because a new shim counts from further on', () => {
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

  test('are told apart also where a surface answers only after the other has come', () => {
    const world = readyWorld()
    world.surfaceAnswers = null
    world.pushes()
    const [first] = world.bells
    world.reports({ session_id: 'session-2', turn_seq: 3, turn: 'busy' })
    world.tell({
      type: 'BELL_ANSWERED',
      ...{ doorbell_id: first!.doorbell.doorbell_id, signal_id: first!.doorbell.signal_id },
      ...{ accepted: true, proof: 'sent' },
    })
    world.reports({ session_id: 'session-1', turn_seq: 0, turn: 'idle' })
    expect(world.bells).toHaveLength(1)
    world.pass(10_000)
    expect(world.bells).toHaveLength(2)
  })

  test('do not pass on a record that one of them has spent: who was never rung is', () => {
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

  test('are both rung for what came while only one of them was there', () => {
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

  test('that only ask are answered with a bell at the end of each turn', () => {
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

  test('have each a turn of their own, also where the shim of the second is started anew', () => {
    const world = readyWorld()
    world.pushes()
    world.reports({ session_id: 'session-2', turn_seq: 3, turn: 'busy' })
    world.surfaceLeaves()
    world.reports({ session_id: 'session-2', turn_seq: 1_000, turn: 'idle' })
    expect(world.bells).toHaveLength(2)
  })

  test('begin anew with a drain', () => {
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

  test('does not ring by itself', () => {
    const world = withBacklog()
    world.pass(14_999)
    expect(world.bells).toHaveLength(0)
  })

  test('rings at the end of the next turn', () => {
    const world = withBacklog()
    world.turnBegins()
    expect(world.bells).toHaveLength(0)
    world.turnEnds()
    expect(reasons(world)).toEqual(['backlog'])
  })

  test('rings with the next push', () => {
    const world = withBacklog()
    world.pushes()
    expect(world.bells.map(({ doorbell }) => doorbell.pending_count)).toEqual([3])
  })

  test('rings with the push of a signal that its list already named', () => {
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

  test('does not ring with a quiet push', () => {
    const world = withBacklog()
    world.pushes(0)
    expect(world.bells).toHaveLength(0)
  })

  test('rings after a partial drain', () => {
    const world = withBacklog()
    world.drains(1)
    expect(world.bells).toHaveLength(1)
  })

  test('rings when a surface asks at the end of a turn', () => {
    const world = withBacklog()
    expect(world.reports({ take: true })).toMatchObject({ reason: 'backlog', pending_count: 2 })
  })

  test('rings when the agent has come back as another session', () => {
    const world = withBacklog()
    world.reports({ session_id: 'session-2', turn_seq: 0 })
    expect(world.bells).toHaveLength(1)
  })

  test('rings when a surface that was seen to leave comes back', () => {
    const world = withBacklog()
    world.surfaceLeaves()
    expect(world.bells).toHaveLength(0)
    world.reports()
    expect(world.bells).toHaveLength(1)
  })

  test('does not ring because a surface attaches to a daemon that never saw one', () => {
    const world = machineWorld()
    world.accepts()
    world.connects()
    world.reports()
    world.pass(14_999)
    expect(world.bells).toHaveLength(0)
  })

  test('rings a surface that is idle by evidence after reconnect_grace_ms, and not before', () => {
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

  test('rings a surface without receipts only after reconnect_patience_ms', () => {
    const world = withBacklog({ receipts: false })
    world.pass(299_999)
    expect(world.bells).toHaveLength(0)
    world.pass(1)
    expect(reasons(world)).toEqual(['backlog'])
  })

  test('waits no longer for evidence than for patience, where that is set to less', () => {
    const world = withBacklog({ reconnect_patience_ms: 1_000 })
    world.pass(1_000)
    expect(world.bells).toHaveLength(1)
  })

  test('rings a surface whose turn is unknown after reconnect_patience_ms, and not before', () => {
    const world = machineWorld()
    world.accepts()
    world.connects()
    world.reports({ turn: 'unknown' })
    world.pass(299_999)
    expect(world.bells).toHaveLength(0)
    world.pass(1)
    expect(reasons(world)).toEqual(['backlog'])
  })

  test('does not ring an unknown turn that becomes known in time', () => {
    const world = machineWorld()
    world.accepts()
    world.connects()
    world.reports({ turn: 'unknown' })
    world.pass(299_000)
    world.reports({ turn: 'busy' })
    world.pass(600_000)
    expect(world.bells).toHaveLength(0)
  })

  test('is not forgotten over a link that drops again and again', () => {
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

  test('of quiet signals lends its waiting time to no loud one', () => {
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

  test('is waited for from the moment the surface attaches, if it comes later', () => {
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

  test('rings an idle surface at once where reconnect_ring is idle', () => {
    const world = withBacklog({ reconnect_ring: 'idle' })
    expect(reasons(world)).toEqual(['backlog'])
  })

  test('includes what is pushed while it is being listed', () => {
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

  test('that was activity already while the list was on its way rings once it is there', () => {
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

  test('that was drained elsewhere rings nothing', () => {
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

  test('that expired gives the next signal no reason of its own', () => {
    const world = withBacklog()
    world.expires()
    world.pushes()
    expect(reasons(world)).toEqual(['signal'])
  })

  test('does not repeat a bell in the turn that was rung before the drop', () => {
    const world = readyWorld()
    world.pushes()
    world.linkLost()
    world.connects()
    world.pushes()
    expect(world.bells).toHaveLength(1)
  })
})

describe('the end of a turn that asks', () => {
  test('is answered with the bell, which then counts as rung', () => {
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

  test('is answered null with nothing pending, and so is a report that does not ask', () => {
    const world = readyWorld()
    expect(world.turnEndsAsking()).toBeNull()
    world.turnBegins()
    world.pushes()
    expect(world.reports({ turn: 'busy' })).toBeNull()
  })

  test('is answered null at once while the hub is away', () => {
    const world = readyWorld()
    world.linkLost()
    expect(world.turnEndsAsking()).toBeNull()
    world.hubAnswers = false
    world.connects()
    expect(world.state).toBe('RECONCILING')
    expect(world.turnEndsAsking()).toBeNull()
  })

  test('is answered null after take_answer_ms when the hub is slow, and the bell finds another way', () => {
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

  test('carries the bell even when one was about to leave over the connection', () => {
    const world = readyWorld()
    world.hubAnswers = false
    world.pushes()
    expect(world.state).toBe('EMITTING')
    world.turnEndsAsking()
    world.hubAnswersNow()
    expect(world.bells.map(({ taken }) => taken)).toEqual([true])
  })

  test('of somebody who hung up costs no bell', () => {
    const world = readyWorld()
    world.turnBegins()
    world.pushes()
    world.hubAnswers = false
    world.reports({ turn: 'busy', take: true })
    world.tell({ type: 'REPORT_ABANDONED', request: world.context.take?.request ?? -1 })
    world.hubAnswersNow()
    expect(world.bells).toHaveLength(0)
  })

  test('is answered null when a newer report comes before the answer', () => {
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

  test('is the only way to a pull surface', () => {
    const world = machineWorld()
    world.connects()
    world.reports({ delivery: 'pull' })
    world.pushes()
    expect(world.bells).toHaveLength(0)
    expect(world.reports({ delivery: 'pull', turn_seq: 1, take: true })).toMatchObject({ pending_count: 1 })
  })
})

describe('a bell that the surface does not take', () => {
  test('and that broke is tried again later, counted as surface_inject_failed, and leaves delivery degraded', () => {
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

  test('and that breaks with a turn and a new session each time is not tried in a circle', () => {
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

  test('and that was accepted but ended its turn badly under a new session is bounded by the re-rings', () => {
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

  test('because it is deferred rings after a while or at the next boundary, without an error', () => {
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

  test('says nothing of one that the agent has seen: it was rung, and no other follows', () => {
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
    'as it says (%s), and that is seen all the same, was rung',
    (proof) => {
      const world = readyWorld()
      world.surfaceAnswers = { accepted: false, proof }
      world.pushes()
      expect(world.context.doorbells_rung).toBe(0)
      world.turnBegins(true)
      expect(world.context.doorbells_rung).toBe(1)
      const stages = world.effects.flatMap((effect) =>
        effect.type === 'tellDoorbell' ? [effect.params.stage] : [],
      )
      expect(stages).toEqual(['requested', 'accepted', 'seen'])
    },
  )

  test('as it says once the agent has seen it and drained, was rung, and nothing broke', () => {
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

  test('as it says, and that is seen after a drain has answered it, was rung', () => {
    const world = readyWorld()
    world.surfaceAnswers = { accepted: false, proof: 'failed' }
    world.pushes()
    world.drains()
    world.turnBegins(true)
    world.turnBegins(true)
    expect(world.context.doorbells_rung).toBe(1)
  })

  test('and that broke degrades nothing once somebody else has taken what it was for', () => {
    const world = readyWorld()
    world.surfaceAnswers = { accepted: false, proof: 'failed' }
    world.pushes()
    world.drains(1, 'cli:by-hand')
    expect(world.delivery).toBe('ok')
  })

  test('is not followed by another before the surface has answered', () => {
    const world = readyWorld()
    world.surfaceAnswers = null
    world.pushes()
    world.turnBegins()
    world.turnEnds()
    world.pass(3_600_000)
    expect(world.bells).toHaveLength(1)
  })

  test('or whose receipt comes with the answer is seen', () => {
    const world = readyWorld()
    world.surfaceAnswers = { accepted: true, proof: 'confirmed' }
    world.pushes()
    world.pass(299_999)
    expect(world.bells).toHaveLength(1)
    expect(world.effects.filter(({ type }) => type === 'tellDoorbell')).toMatchObject([
      { params: { stage: 'requested' } },
      { params: { stage: 'accepted' } },
      { params: { stage: 'seen' } },
    ])
  })
})

describe('an absent surface', () => {
  test('degrades delivery and is counted once, however much waits', () => {
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

  test('that never came is counted once: after a grace, or when a signal comes', () => {
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

  test('that comes back as the same idle session is rung again for a bell nobody saw', () => {
    const world = readyWorld()
    world.reports({ turn_seq: 7 })
    world.pushes()
    world.surfaceLeaves()
    world.reports({ turn_seq: 0 })
    expect(world.bells).toHaveLength(1)
    world.pass(10_000)
    expect(world.bells).toHaveLength(2)
  })

  test('whose new shim counts from further on is not rung twice in the turn of the bell', () => {
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
    'that comes back %s and says that the bell was seen is reminded later',
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

  test('that says only later that the bell was seen is not left asleep', () => {
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

  test('that comes back where it stood, its turn over, is reminded later', () => {
    const world = readyWorld()
    world.pushes()
    world.turnBegins(true)
    world.surfaceLeaves()
    world.reports({ turn: 'idle' })
    expect(world.bells).toHaveLength(1)
    world.pass(REMINDER_MS)
    expect(world.bells).toHaveLength(2)
  })

  test('without a session does not go by the name of the one before', () => {
    const world = readyWorld()
    world.reports({ session_id: null })
    expect(factsOf(world.context.history)).toMatchObject({ attached: true, session_id: null })
    const pull = machineWorld()
    pull.reports({ delivery: 'pull' })
    pull.reports({ delivery: 'pull', session_id: null })
    expect(factsOf(pull.context.history)).toMatchObject({ attached: true, session_id: 'session-1' })
  })

  test('whose shim was killed in the turn it had been rung for is rung again if nothing was drained', () => {
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

test('a surface that becomes another session while the hub is asked is rung only for what that one can drain', () => {
  const world = readyWorld()
  world.turnBegins()
  world.pushes()
  world.hubAnswers = false
  world.turnEnds()
  expect(world.state).toBe('EMITTING')
  world.reports({ session_id: 'session-2' })
  // The answer for the former session comes first, and the other one's queue is empty.
  world.hubAnswersNow()
  expect(world.bells).toHaveLength(0)
  world.losesSilently()
  world.hubAnswersNow()
  expect(world.bells).toHaveLength(0)
  expect(world.state).toBe('CONNECTED')
})

test('another shim of the session that counts from further on is no turn that has passed', () => {
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

test('a bell that was asked for is not for what comes after a list in which nothing waits', () => {
  const world = readyWorld()
  world.turnBegins()
  world.pushes()
  expect(world.notify()).toEqual({ accepted: true, reason: 'mid_turn' })
  world.linkLost()
  world.losesSilently()
  world.hubAnswers = false
  world.connects()
  // Told before the list, and newer than it.
  const late = world.accepts()
  world.losesSilently()
  world.tell({ type: 'SIGNAL_PUSHED', entry: late, total: 1 })
  const { peek_id } = world.context.reconcile!
  const list = { signals: [], total: 0, as_of_seq: late.seq - 1, doorbell_id: '01B00000000000000000000099' }
  world.tell({ type: 'PENDING_LISTED', peek_id, ...list })
  expect(world.context.history).toMatchObject({ manual: false, pending: { total: 1 } })
})

test('what became of the last bell is told also where the agent has drained before its surface answers', () => {
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

test('a bell names nothing that has gone since it was last told of', () => {
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

test('a surface that was started anew by hand is rung at once, whatever came of the bells before', () => {
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
  test('rings a quiet signal that would never ring by itself', () => {
    const world = readyWorld()
    world.pushes(0)
    expect(world.notify()).toEqual({ accepted: true })
    expect(reasons(world)).toEqual(['manual'])
  })

  test('ends a hold and the budget of an agent that ignores its bells', () => {
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

  test('during a turn is deferred to its end', () => {
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
  ])('is over where everything is %s while the list is on its way', (_, leaves) => {
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

  test('is answered by a drain that nobody could tell of: what is quiet and came since rings not', () => {
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

  test('is kept over a link that drops, as long as something waits', () => {
    const world = readyWorld()
    world.pushes(0)
    world.turnBegins()
    world.notify()
    world.linkLost()
    world.connects()
    world.turnEnds()
    expect(reasons(world)).toEqual(['manual'])
  })

  test('during a turn whose agent then drains everything rings nothing', () => {
    const world = readyWorld()
    world.pushes(0)
    world.turnBegins()
    world.notify()
    world.drains()
    world.turnEnds()
    world.pushes(0)
    expect(world.bells).toHaveLength(0)
  })

  test('is refused with nothing pending, with a bell out, without a surface, without a hub', () => {
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
