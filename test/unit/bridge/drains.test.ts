/** Tests how drains are confirmed and released, in which order, and which calls wait for others. */
import { beforeEach, describe, expect, test } from 'vitest'
import { toProblem, TurnbellError } from '../../../src/contracts/errors/errors.ts'
import { LIMITS } from '../../../src/contracts/limits/limits.ts'
import { silentLog } from '../../../src/ports/log.ts'
import { createDrains, type Drains } from '../../../src/bridge/drains.ts'
import { AnswerLost, type Result } from '../../../src/bridge/hub/answers.ts'
import { atRest, fakeClock, type FakeClock } from '../../support/fakes/fake-clock.ts'

const DRAIN_ID = '01J00000000000000000000001'

let clock: FakeClock
let asked: { what: string; answer: (result: Result) => void; fail: (error: unknown) => void }[]
let drains: Drains
beforeEach(() => {
  clock = fakeClock()
  asked = []
  drains = createDrains({
    upstream: { request: (_, params) => underWay(JSON.stringify(params['arguments'])) },
    clock,
    log: silentLog,
  })
})

/** A request that stays pending until the test answers it. */
function underWay(what: string): Promise<Result> {
  return new Promise((answer, fail) => asked.push({ what, answer, fail }))
}

/** Collects the outcome of a promise. */
function watched(promise: Promise<unknown>): unknown[] {
  const outcomes: unknown[] = []
  const settled = (value: unknown) => void outcomes.push(value)
  promise.then(settled, settled)
  return outcomes
}

const drain = (session_id = 's') => watched(drains.request(session_id, () => underWay('drain')))
const whats = () => asked.map(({ what }) => what)

describe('a drain after a confirmation', () => {
  const CONFIRM = `{"peek":true,"limit":1,"confirm":"${DRAIN_ID}"}`
  let outcomes: unknown[]
  beforeEach(async () => {
    drains.received('s', { drain_id: DRAIN_ID, signal_ids: [] })
    drains.confirm(DRAIN_ID)
    outcomes = drain()
    await atRest()
    expect(whats()).toEqual([CONFIRM])
  })

  test('a drain is sent once the confirmation was sent', async () => {
    await clock.advance(LIMITS.bridge_wait_ms - 1)
    asked[0]?.answer({})
    await atRest()
    expect(whats()).toEqual([CONFIRM, 'drain'])
    expect(clock.armed()).toBe(0)
    asked[1]?.answer({ content: [] })
    await atRest()
    expect(outcomes).toEqual([{ content: [] }])
  })

  test('a drain is refused after the patience for an absent hub, and then never sent', async () => {
    await clock.advance(LIMITS.bridge_wait_ms)
    expect(outcomes).toMatchObject([{ code: 'hub_unreachable' }])
    asked[0]?.answer({})
    await atRest()
    expect(whats()).toEqual([CONFIRM])
    expect(outcomes).toHaveLength(1)
  })

  test('a refused drain does not delay the next one, and the confirmation is still sent first', async () => {
    await clock.advance(LIMITS.bridge_wait_ms)
    const next = drain()
    await clock.advance(LIMITS.bridge_wait_ms - 1)
    expect([whats(), next]).toEqual([[CONFIRM], []])
    asked[0]?.answer({})
    await atRest()
    expect(whats()).toEqual([CONFIRM, 'drain'])
  })

  test('a drain waits for its own answer without a limit', async () => {
    asked[0]?.answer({})
    await atRest()
    await clock.advance(LIMITS.bridge_wait_ms * 2)
    expect([whats(), outcomes]).toEqual([[CONFIRM, 'drain'], []])
  })
})

const HANDED = { drain_id: DRAIN_ID, signal_ids: ['s1'] }
const RELEASE = '{"action":"release","params":{"signal_ids":["s1"]}}'
const LOOK = expect.stringContaining('"leased_to":"s"') as string

/** A drain whose response the test provides; `then` runs as soon as it is delivered. */
function handing(then: () => void = () => undefined, signal_ids = ['s1']): unknown[] {
  const ask = () =>
    underWay('drain').then((answer) => {
      drains.received('s', { ...HANDED, signal_ids })
      then()
      return answer
    })
  return watched(drains.request('s', ask))
}

describe('the second of two concurrent drains', () => {
  test('the second drain is sent after the release of the first, if that was abandoned', async () => {
    handing(() => drains.release(['s1']))
    drain()
    await atRest()
    asked[0]?.answer({})
    await atRest()
    expect(whats()).toEqual(['drain', RELEASE])
    asked[1]?.answer({})
    await atRest()
    expect(whats()).toEqual(['drain', RELEASE, 'drain'])
    expect(clock.armed()).toBe(0)
  })

  test.each([
    ['has it', () => drains.written(DRAIN_ID), ['drain', 'drain']],
    ['abandons it', () => drains.release(['s1']), ['drain', RELEASE, 'drain']],
    [
      'has confirmed it',
      () => drains.confirm(DRAIN_ID),
      ['drain', expect.stringContaining('confirm'), 'drain'],
    ],
  ])('the second drain is not sent before the client %s', async (_, becomes, expected) => {
    handing()
    const second = drain()
    await atRest()
    asked[0]?.answer({})
    await clock.advance(LIMITS.bridge_wait_ms - 1)
    expect([whats(), second]).toEqual([['drain'], []])
    becomes()
    await atRest()
    asked[1]?.answer({})
    await atRest()
    expect(whats()).toEqual(expected)
  })

  test('the second drain is refused if the client never takes the first, while other reports are sent', async () => {
    handing()
    const second = drain()
    await atRest()
    asked[0]?.answer({})
    await atRest()
    drains.confirm('01J00000000000000000000002')
    await atRest()
    asked[1]?.answer({})
    await clock.advance(LIMITS.bridge_wait_ms)
    expect(second).toMatchObject([{ code: 'hub_unreachable' }])
    expect(whats()).toEqual(['drain', expect.stringContaining('confirm')])
    drains.written(DRAIN_ID)
    drain()
    await atRest()
    expect(whats().at(-1)).toBe('drain')
  })

  test('the second drain does not wait for a drain without signals', async () => {
    handing(undefined, [])
    drain()
    await atRest()
    asked[0]?.answer({})
    await atRest()
    expect(whats()).toEqual(['drain', 'drain'])
  })

  test('the second drain does not wait for another session, whose leases it does not make final', async () => {
    handing()
    await atRest()
    asked[0]?.answer({})
    await atRest()
    drain('another')
    await atRest()
    expect(whats()).toEqual(['drain', 'drain'])
  })
})

describe('a drain whose release failed', () => {
  const REFUSED = {
    isError: true,
    structuredContent: toProblem(new TurnbellError('internal', { detail: 'x' }), 'i'),
  }

  test.each([
    ['is refused', () => asked[1]?.answer(REFUSED)],
    ['does not arrive', () => asked[1]?.fail(new AnswerLost(new Error('gone')))],
  ])('a drain whose release %s is looked up before the next one', async (_, release) => {
    handing(() => drains.release(['s1']))
    await atRest()
    asked[0]?.answer({})
    await atRest()
    release()
    drain()
    await atRest()
    expect(whats()).toEqual(['drain', RELEASE, LOOK])
    asked[2]?.answer({ structuredContent: { signals: [{ signal_id: 's1', drain_id: DRAIN_ID }] } })
    await atRest()
    asked[3]?.answer({ structuredContent: {} })
    await atRest()
    expect(whats()).toEqual(['drain', RELEASE, LOOK, RELEASE, 'drain'])
  })

  test('a drain whose release was dropped from a full queue is looked up before the next one', async () => {
    const ids = Array.from({ length: LIMITS.bridge_confirms_max }, (_, nth) => `drain-${nth}`)
    for (const drain_id of ids) drains.confirm(drain_id)
    drains.received('s', HANDED)
    drains.release(['s1'])
    for (const nth of ids.keys()) {
      await atRest()
      asked[nth]?.answer({})
    }
    drain()
    await atRest()
    expect(whats().slice(ids.length)).toEqual([LOOK])
  })
})

test('a lost drain is released without waiting for another, because the end of the turn would make it final', async () => {
  const outcomes = drain()
  await atRest()
  asked[0]?.fail(new AnswerLost(new Error('gone')))
  await atRest()
  asked[1]?.fail(new TurnbellError('hub_unreachable', { detail: 'still away' }))
  await atRest()
  expect(outcomes).toMatchObject([{ code: 'hub_unreachable' }])
  expect(whats()).toEqual(['drain', LOOK, LOOK])
  asked[2]?.answer({ structuredContent: { signals: [{ signal_id: 's1' }] } })
  await atRest()
  expect(whats()).toEqual(['drain', LOOK, LOOK, RELEASE])
})

test('a confirmed drain is not released with a lost one, because the hub holds its lease until the turn ends', async () => {
  drains.received('s', HANDED)
  drains.confirm(DRAIN_ID)
  await atRest()
  asked[0]?.answer({})
  await atRest()
  drain()
  await atRest()
  asked[1]?.fail(new AnswerLost(new Error('gone')))
  await atRest()
  const leased = [
    { signal_id: 's1', drain_id: DRAIN_ID },
    { signal_id: 's2', drain_id: '01J00000000000000000000002' },
  ]
  asked[2]?.answer({ structuredContent: { signals: leased } })
  await atRest()
  expect(whats()).toEqual([
    expect.stringContaining('confirm'),
    'drain',
    LOOK,
    '{"action":"release","params":{"signal_ids":["s2"]}}',
  ])
})

test('a refused drain is not a lost one: nothing is looked up, and it is sent once', async () => {
  const refusal = new TurnbellError('persona_wrapped', { detail: 'x' })
  const outcomes = drain()
  await atRest()
  asked[0]?.fail(refusal)
  await atRest()
  expect([outcomes, whats()]).toEqual([[refusal], ['drain']])
})

test('a drain waits for an earlier one without a limit', async () => {
  const outcomes = [drain(), drain()]
  await clock.advance(LIMITS.bridge_answer_ms)
  asked[0]?.answer({})
  await atRest()
  asked[1]?.answer({})
  await atRest()
  expect([whats(), outcomes]).toEqual([
    ['drain', 'drain'],
    [[{}], [{}]],
  ])
})

describe('the leases of a lost drain', () => {
  const ANOTHER_FORM = { content: [], structuredContent: { s: [{ sid: '6' }] } }
  const NO_PROBLEM = { content: [], structuredContent: { e: 'ur' }, isError: true }

  test.each([
    ['in another form', ANOTHER_FORM],
    ['as a refusal without a problem', NO_PROBLEM],
    ['in no form at all', { isError: 7 }],
  ])('a lookup answered %s counts as an unreachable hub', async (_, told) => {
    const outcomes = drain()
    await atRest()
    asked[0]?.fail(new AnswerLost(new Error('gone')))
    await atRest()
    asked[1]?.answer(told)
    await atRest()
    // The first request may have been received, so its effect is unknown.
    expect(outcomes).toMatchObject([
      {
        name: 'TurnbellError',
        code: 'hub_unreachable',
        hint: expect.stringContaining('may or may not') as string,
      },
    ])
    // The bridge looks for it once more, because the end of a turn would confirm it.
    expect(whats()).toEqual(['drain', expect.stringContaining('inbox'), expect.stringContaining('inbox')])
  })

  test('orphaned leases are released page by page, while the pages go back in time', async () => {
    const outcomes = drain()
    await atRest()
    asked[0]?.fail(new AnswerLost(new Error('gone')))
    const page = (signal_id: string, next?: number) => ({
      structuredContent: { signals: [{ signal_id }], next },
    })
    for (const [turn, told] of [page('s9', 9), page('s4', 4), page('s3', 4)].entries()) {
      await atRest()
      asked[2 * turn + 1]?.answer(told)
      await atRest()
      asked[2 * turn + 2]?.answer({ structuredContent: {} })
    }
    await atRest()
    asked[7]?.answer({})
    await atRest()
    expect(outcomes).toEqual([{}])
    expect(whats()).toEqual([
      'drain',
      expect.not.stringContaining('before_seq'),
      expect.stringContaining('s9'),
      expect.stringContaining('"before_seq":9'),
      expect.stringContaining('s4'),
      expect.stringContaining('"before_seq":4'),
      expect.stringContaining('s3'),
      'drain',
    ])
  })

  test("a lookup refused by the hub fails with the hub's error", async () => {
    const outcomes = drain()
    await atRest()
    asked[0]?.fail(new AnswerLost(new Error('gone')))
    await atRest()
    asked[1]?.fail(new TurnbellError('facet_forbidden', { detail: 'closed' }))
    await atRest()
    expect(outcomes).toMatchObject([{ code: 'facet_forbidden' }])
  })

  test('orphaned leases are released again if the second attempt was lost, too', async () => {
    const outcomes = drain()
    const lost = [new AnswerLost(new Error('gone')), new AnswerLost(new Error('gone again'))]
    for (const [turn, error] of lost.entries()) {
      await atRest()
      asked[2 * turn]?.fail(error)
      await atRest()
      asked[2 * turn + 1]?.answer({ structuredContent: { signals: [] } })
    }
    await atRest()
    expect(whats()).toEqual([
      'drain',
      expect.stringContaining('inbox'),
      'drain',
      expect.stringContaining('inbox'),
    ])
    expect(outcomes).toEqual([lost[1]])
  })

  test('orphaned leases are released before the next drain even if they were reported', async () => {
    drain()
    await atRest()
    asked[0]?.fail(new AnswerLost(new Error('gone')))
    await atRest()
    asked[1]?.answer(ANOTHER_FORM)
    await atRest()
    drain()
    await atRest()
    asked[2]?.answer({ structuredContent: { signals: [] } })
    await atRest()
    expect(whats()).toEqual([
      'drain',
      expect.stringContaining('inbox'),
      expect.stringContaining('inbox'),
      'drain',
    ])
  })
})
