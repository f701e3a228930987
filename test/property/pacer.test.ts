/**
 * Invariants of the pacer over any interleaving of pushes, drains, turns, lost links, lost doorbells and time.
 * `machine-world.ts` itself rejects a doorbell outside EMITTING, into a turn, with nothing pending, or for a signal
 * that does not wait.
 */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { machineWorld, RULES, type MachineWorld } from '../support/worlds/machine-world.ts'

/** Possible events of an agent, its surface and its hub. The agent drains only inside a turn. */
type Move =
  | { do: 'push'; priority: number }
  | { do: 'accept without a push' }
  | { do: 'repeat the last push' }
  | { do: 'begin a turn'; seen: boolean }
  | { do: 'drain'; count: number }
  | { do: 'give back' }
  | { do: 'drained elsewhere, unheard' }
  | { do: 'drained by another session' }
  | { do: 'one expires' }
  | { do: 'end the turn' }
  | { do: 'end the turn, asking' }
  | { do: 'lose the link' }
  | { do: 'link up' }
  | { do: 'hold the hub back' }
  | { do: 'let the hub answer' }
  | { do: 'surface leaves' }
  | { do: 'surface comes back' }
  | { do: 'another shim comes' }
  | { do: 'the surface holds what it is rung' }
  | { do: 'the surface lets go' }
  | { do: 'the bell breaks' }
  | { do: 'the bell arrives' }
  | { do: 'notify' }
  | { do: 'wait'; ms: number }

const plain = (name: Exclude<Move['do'], 'push' | 'begin a turn' | 'drain' | 'wait'>) =>
  fc.constant<Move>({ do: name })
const move: fc.Arbitrary<Move> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({ do: fc.constant('push' as const), priority: fc.integer({ min: 0, max: 9 }) }),
  },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('begin a turn' as const), seen: fc.boolean() }) },
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constant('drain' as const), count: fc.integer({ min: 1, max: 5 }) }),
  },
  { weight: 4, arbitrary: plain('end the turn') },
  { weight: 4, arbitrary: plain('end the turn, asking') },
  { weight: 1, arbitrary: plain('accept without a push') },
  { weight: 1, arbitrary: plain('repeat the last push') },
  { weight: 1, arbitrary: plain('give back') },
  { weight: 1, arbitrary: plain('drained elsewhere, unheard') },
  { weight: 1, arbitrary: plain('drained by another session') },
  { weight: 1, arbitrary: plain('one expires') },
  { weight: 1, arbitrary: plain('lose the link') },
  { weight: 2, arbitrary: plain('link up') },
  { weight: 1, arbitrary: plain('hold the hub back') },
  { weight: 2, arbitrary: plain('let the hub answer') },
  { weight: 1, arbitrary: plain('surface leaves') },
  { weight: 1, arbitrary: plain('surface comes back') },
  { weight: 1, arbitrary: plain('another shim comes') },
  { weight: 1, arbitrary: plain('the surface holds what it is rung') },
  { weight: 1, arbitrary: plain('the surface lets go') },
  { weight: 1, arbitrary: plain('the bell breaks') },
  { weight: 1, arbitrary: plain('the bell arrives') },
  { weight: 1, arbitrary: plain('notify') },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constant('wait' as const), ms: fc.integer({ min: 1, max: 400_000 }) }),
  },
)

interface Tally {
  turns: number
  /**
   * Number of times that a doorbell may be sent although no turn ended: the last one was lost or rejected, or its shim
   * ended.
   */
  excuses: number
}

/** Performs a move that is possible in the current state; any other changes nothing. */
function perform(world: MachineWorld, step: Move, tally: Tally): void {
  const { surface } = world.context.history
  const busy = world.report.turn === 'busy'
  switch (step.do) {
    case 'push':
      world.accepts(step.priority)
      if (world.state !== 'DISCONNECTED') {
        const entry = world.queue.reduce((a, b) => (a.seq > b.seq ? a : b))
        world.tell({ type: 'SIGNAL_PUSHED', entry, total: world.queue.length })
      }
      return
    case 'accept without a push':
      world.accepts()
      return
    case 'repeat the last push': {
      const last = [...world.queue].sort((a, b) => b.seq - a.seq)[0]
      if (last && world.state !== 'DISCONNECTED') world.repeatsPush(last)
      return
    }
    case 'begin a turn':
      if (surface.attached && !busy) {
        world.turnBegins(step.seen)
        tally.turns += 1
      }
      return
    case 'drain':
      if (busy && world.state !== 'DISCONNECTED') world.drains(step.count)
      return
    case 'give back':
      if (busy && world.state !== 'DISCONNECTED') {
        const taken = world.drains(2)
        if (taken.length > 0) world.releases(taken)
      }
      return
    case 'drained elsewhere, unheard':
      world.losesSilently(1)
      // After a reconnect this looks like a drain, which ends the doorbell's turn.
      tally.excuses += 1
      return
    case 'drained by another session':
      if (world.state !== 'DISCONNECTED') world.drains(1, 'another-session')
      // With an empty queue, or after a reconnect, the outstanding doorbell no longer counts.
      tally.excuses += 1
      return
    case 'one expires':
      if (world.state === 'DISCONNECTED') return
      world.expires(1)
      // No doorbell is answered, but after a reconnect it looks like a drain.
      tally.excuses += 1
      return
    case 'end the turn':
      if (surface.attached && busy) world.turnEnds()
      return
    case 'end the turn, asking':
      if (surface.attached && busy) {
        // A shim with a doorbell starts a new turn of the agent.
        if (world.turnEndsAsking()) {
          world.turnBegins(true)
          tally.turns += 1
        }
      }
      return
    case 'lose the link':
      if (world.state !== 'DISCONNECTED') world.linkLost()
      return
    case 'link up':
      if (world.state === 'DISCONNECTED') world.connects()
      return
    case 'hold the hub back':
      world.hubAnswers = false
      return
    case 'let the hub answer':
      world.hubAnswers = true
      world.hubAnswersNow()
      return
    case 'surface leaves':
      world.surfaceLeaves()
      return
    case 'surface comes back':
      if (!surface.attached) {
        world.reports({ turn: 'idle', turn_seq: 0, session_id: 'session-1' })
        tally.excuses += 1
      }
      return
    case 'another shim comes':
      if (surface.attached) {
        world.reports({ turn_seq: world.report.turn_seq + 1_000 }, false)
        tally.excuses += 1
      }
      return
    case 'the surface holds what it is rung':
      world.surfaceHolds = true
      return
    case 'the surface lets go':
      world.surfaceHolds = false
      return
    case 'the bell breaks':
      world.surfaceAnswers = { accepted: false, proof: 'failed' }
      return
    case 'the bell arrives':
      world.surfaceAnswers = { accepted: true, proof: 'sent' }
      return
    case 'notify':
      world.notify()
      return
    case 'wait':
      world.pass(step.ms)
      return
  }
}

function play(moves: readonly Move[], check: (world: MachineWorld, tally: Tally) => void): MachineWorld {
  const world = machineWorld()
  const tally: Tally = { turns: 0, excuses: 0 }
  world.connects()
  world.reports()
  for (const step of moves) {
    perform(world, step, tally)
    check(world, tally)
  }
  return world
}

test('doorbells never outnumber turns and lost doorbells, in any interleaving', () => {
  fc.assert(
    fc.property(fc.array(move, { maxLength: 120 }), (moves) => {
      const refused = { count: 0 }
      play(moves, (world, { turns, excuses }) => {
        refused.count = world.errors.filter((error) => error === 'surface_inject_failed').length
        const { length: bells } = world.bells
        // One doorbell for the next turn, one for each turn so far, and the lost ones.
        const lost = lostBells(world)
        expect(bells).toBeLessThanOrEqual(1 + turns + excuses + refused.count + lost)
      })
    }),
    { numRuns: 300 },
  )
})

/** Counts doorbells after which the surface was idle long enough for the next one to be a repetition of a lost one. */
function lostBells(world: MachineWorld): number {
  return world.bells.filter(
    ({ at }, n) => n > 0 && at - (world.bells[n - 1]?.at ?? 0) >= RULES.bell_receipt_ms,
  ).length
}

test('no doorbell is sent during a turn, outside EMITTING, with nothing pending, or for a drained signal', () => {
  // The world itself throws at a wrong doorbell; these runs only provide many random sequences.
  fc.assert(
    fc.property(fc.array(move, { maxLength: 200 }), (moves) => {
      play(moves, () => {})
    }),
    { numRuns: 300 },
  )
})

test('every report is answered exactly once, and at most one waits', () => {
  fc.assert(
    fc.property(fc.array(move, { maxLength: 120 }), (moves) => {
      const world = play(moves, (now) => {
        const reports = now.effects.filter(
          ({ type, ...effect }) =>
            type === 'answerReport' || (type === 'ring' && 'params' in effect && hasRequest(effect.params)),
        )
        expect(reports.length).toBe(now.answers.size)
      })
      world.hubAnswers = true
      world.hubAnswersNow()
      world.pass(10_000)
      expect(world.context.take).toBeNull()
    }),
    { numRuns: 150 },
  )
})

function hasRequest(params: unknown): boolean {
  return (params as { request: number | null }).request !== null
}

test('a waiting signal is rung for within the patience once all faults have ended', () => {
  fc.assert(
    fc.property(fc.array(move, { maxLength: 80 }), (moves) => {
      const world = play(moves, () => {})
      world.hubAnswers = true
      world.hubAnswersNow()
      world.surfaceAnswers = { accepted: true, proof: 'sent' }
      world.surfaceHolds = false
      if (world.state === 'DISCONNECTED') world.connects()
      if (world.state === 'RECONCILING') world.hubAnswersNow()
      if (!world.context.history.surface.attached) world.reports({ turn: 'idle' })
      if (world.report.turn === 'busy') world.turnEnds()
      const before = world.bells.length
      world.pushes(5)
      // A doorbell may be outstanding for this turn; it is then found lost and repeated.
      world.pass(2 * RULES.reconnect_patience_ms)
      const seen = world.context.history.bell?.seen === true
      expect(world.bells.length > before || seen).toBe(true)
    }),
    { numRuns: 300 },
  )
})

test('no second doorbell is sent in a turn before bell_receipt_ms of continuous idleness, or while the first is held', () => {
  /** All events except a new turn, a drain, and requests of the operator: the first doorbell is never answered. */
  const happening = fc.oneof(
    fc.record({ do: fc.constant('wait' as const), ms: fc.integer({ min: 1, max: 30_000 }) }),
    ...(
      [
        'push',
        'leaves',
        'comes back',
        'another shim',
        'unsure',
        'sure',
        'holds',
        'lets go',
        'silent',
      ] as const
    ).map((what) => fc.record({ do: fc.constant(what) })),
    ...(['link lost', 'link up'] as const).map((what) => fc.record({ do: fc.constant(what) })),
  )
  fc.assert(
    fc.property(fc.array(happening, { maxLength: 60 }), (happenings) => {
      const world = machineWorld()
      world.connects()
      world.reports()
      world.pushes()
      let idle_since: number | null = 0
      let there = true
      let checked = world.bells.length
      /** Checks the doorbell that was just sent. */
      const check = () => {
        const [last, before] = [world.bells.at(-1), world.bells.at(-2)]
        if (world.bells.length === checked || last === undefined || before === undefined) return
        checked = world.bells.length
        const since = Math.max(before.at, idle_since ?? Infinity)
        expect(last.at - since).toBeGreaterThanOrEqual(RULES.bell_receipt_ms)
        expect(world.surfaceHolds).toBe(false)
      }
      const reports = (change: Parameters<MachineWorld['reports']>[0], same_shim = true) => {
        // The last report applies from now on.
        const turn = change?.turn ?? world.report.turn
        idle_since = turn !== 'idle' ? null : there && same_shim ? (idle_since ?? world.now) : world.now
        there = true
        world.reports(change, same_shim)
      }
      for (const event of happenings) {
        switch (event.do) {
          case 'wait': {
            const until = world.now + event.ms
            for (let before = world.bells.length; world.now < until; before = world.bells.length) {
              world.passUntilBell(until - world.now, before)
              check()
            }
            break
          }
          case 'push':
            if (world.state !== 'DISCONNECTED') world.pushes()
            break
          case 'leaves':
            world.surfaceLeaves()
            there = false
            idle_since = null
            break
          case 'comes back':
            if (!there) reports({ turn: 'idle' })
            break
          case 'another shim':
            reports({ turn: 'idle', turn_seq: world.report.turn_seq + 1_000 }, false)
            break
          case 'unsure':
            if (there) reports({ turn: 'unknown' })
            break
          case 'sure':
            if (there) reports({ turn: 'idle' })
            break
          case 'holds':
            world.surfaceHolds = true
            break
          case 'lets go':
            world.surfaceHolds = false
            break
          case 'silent':
            world.surfaceHolds = null
            break
          case 'link lost':
            if (world.state !== 'DISCONNECTED') world.linkLost()
            break
          case 'link up':
            if (world.state === 'DISCONNECTED') world.connects()
        }
        check()
      }
    }),
    { numRuns: 300 },
  )
})

test('an idle surface with a backlog is rung within the patience and one reconnect, however often the link drops', () => {
  const stretch = fc.record({
    up_ms: fc.integer({ min: 0, max: RULES.reconnect_patience_ms }),
    down_ms: fc.integer({ min: 0, max: RULES.reconnect_patience_ms }),
    arrives: fc.boolean(),
    listed: fc.boolean(),
  })
  fc.assert(
    fc.property(fc.array(stretch, { minLength: 1, maxLength: 40 }), (stretches) => {
      const world = machineWorld()
      world.connects()
      world.reports()
      world.linkLost()
      world.accepts()
      world.connects()
      const since = world.now
      for (const { up_ms, down_ms, arrives, listed } of stretches) {
        world.pass(up_ms)
        // While the link is up and reconciled, no doorbell may be due for longer than the patience.
        if (world.now - since >= RULES.reconnect_patience_ms) break
        world.linkLost()
        if (arrives) world.accepts()
        world.pass(down_ms)
        if (!listed) {
          world.hubAnswers = false
          world.connects()
          world.linkLost()
          world.hubAnswers = true
        }
        world.connects()
        if (world.now - since >= RULES.reconnect_patience_ms) break
      }
      world.pass(Math.max(0, since + RULES.reconnect_patience_ms - world.now))
      // No doorbell is answered here, so it may have been found lost and repeated.
      expect(world.bells[0]?.doorbell.reason).toBe('backlog')
    }),
    { numRuns: 200 },
  )
})
