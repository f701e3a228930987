/**
 * Laws of the pacer over any interleaving of pushes, drains, turns, lost links, lost bells and time.
 * `machine-world.ts` itself refuses a bell outside EMITTING, into a turn, with nothing pending, or for
 * a signal that does not wait.
 */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { machineWorld, RULES, type MachineWorld } from '../support/machine-world.ts'

/** What an agent, its surface and its hub may do. The agent drains only inside a turn, as agents do. */
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
  /** Times at which a bell may leave although no turn ended: it was lost, refused, or its shim went. */
  excuses: number
}

/** Performs what makes sense where the world stands; the rest changes nothing. */
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
      // At a reconnect this looks as if the agent had drained: then the bell's turn is over.
      tally.excuses += 1
      return
    case 'drained by another session':
      if (world.state !== 'DISCONNECTED') world.drains(1, 'another-session')
      // With nothing left, or at a reconnect, the bell that is out is done with.
      tally.excuses += 1
      return
    case 'one expires':
      if (world.state === 'DISCONNECTED') return
      world.expires(1)
      // No bell is answered, but at a reconnect it looks as if the agent had drained.
      tally.excuses += 1
      return
    case 'end the turn':
      if (surface.attached && busy) world.turnEnds()
      return
    case 'end the turn, asking':
      if (surface.attached && busy) {
        // What a shim does with a bell in its hands: the agent goes on in a new turn.
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

test('doorbells never outnumber turns and the bells that were lost, in any interleaving', () => {
  fc.assert(
    fc.property(fc.array(move, { maxLength: 120 }), (moves) => {
      const refused = { count: 0 }
      play(moves, (world, { turns, excuses }) => {
        refused.count = world.errors.filter((error) => error === 'surface_inject_failed').length
        const { length: bells } = world.bells
        // One bell for the turn that is to come, one for each that came, and those that reached nobody.
        const lost = lostBells(world)
        expect(bells).toBeLessThanOrEqual(1 + turns + excuses + refused.count + lost)
      })
    }),
    { numRuns: 300 },
  )
})

/** Bells after which the surface stood idle long enough for the next to be a lost one's repetition. */
function lostBells(world: MachineWorld): number {
  return world.bells.filter(
    ({ at }, n) => n > 0 && at - (world.bells[n - 1]?.at ?? 0) >= RULES.bell_receipt_ms,
  ).length
}

test('no bell leaves while a turn runs, outside EMITTING, with nothing pending, or for a drained signal', () => {
  // The world throws at the bell itself; these runs only have to be many and wild.
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

test('whatever happened, once all is well a waiting signal is rung for within the patience', () => {
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
      // A bell may be out for this turn already; then it is found lost and rung again.
      world.pass(2 * RULES.reconnect_patience_ms)
      const seen = world.context.history.bell?.seen === true
      expect(world.bells.length > before || seen).toBe(true)
    }),
    { numRuns: 300 },
  )
})

test('no second bell leaves in a turn before bell_receipt_ms of unbroken idleness, nor while the first is held', () => {
  /** Everything but a turn that begins, a drain, and what a person asks for: the first bell is never answered. */
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
      /** Of a bell that has just left. */
      const check = () => {
        const [last, before] = [world.bells.at(-1), world.bells.at(-2)]
        if (world.bells.length === checked || last === undefined || before === undefined) return
        checked = world.bells.length
        const since = Math.max(before.at, idle_since ?? Infinity)
        expect(last.at - since).toBeGreaterThanOrEqual(RULES.bell_receipt_ms)
        expect(world.surfaceHolds).toBe(false)
      }
      const reports = (change: Parameters<MachineWorld['reports']>[0], same_shim = true) => {
        // What was said last counts from now on, or on.
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
        // While the link is up and reconciled nothing may be owed for longer than the patience.
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
      // Nobody answers it here, so it may have been found lost and rung again by now.
      expect(world.bells[0]?.doorbell.reason).toBe('backlog')
    }),
    { numRuns: 200 },
  )
})
