/** What is said of drains, in which order, and who waits for whom. */
import { beforeEach, describe, expect, test } from 'vitest'
import { toProblem, TurnbellError } from '../../../src/contracts/errors.ts'
import { LIMITS } from '../../../src/contracts/limits.ts'
import { silentLog } from '../../../src/ports/log.ts'
import { createDrains, type Drains } from '../../../src/transports/bridge/drains.ts'
import { AnswerLost, type Result } from '../../../src/transports/bridge/upstream.ts'
import { atRest, fakeClock, type FakeClock } from '../../support/fake-clock.ts'

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

/** Until the test answers it. */
function underWay(what: string): Promise<Result> {
  return new Promise((answer, fail) => asked.push({ what, answer, fail }))
}

/** What became of it so far. */
function watched(promise: Promise<unknown>): unknown[] {
  const outcomes: unknown[] = []
  const settled = (value: unknown) => void outcomes.push(value)
  promise.then(settled, settled)
  return outcomes
}

const drain = (session_id = 's') => watched(drains.take(session_id, () => underWay('drain')))
const whats = () => asked.map(({ what }) => what)

describe('a drain behind a confirmation', () => {
  const CONFIRM = `{"peek":true,"limit":1,"confirm":"${DRAIN_ID}"}`
  let outcomes: unknown[]
  beforeEach(async () => {
    drains.handed('s', { drain_id: DRAIN_ID, signal_ids: [] })
    drains.confirm(DRAIN_ID)
    outcomes = drain()
    await atRest()
    expect(whats()).toEqual([CONFIRM])
  })

  test('is made once the hub has heard it', async () => {
    await clock.advance(LIMITS.bridge_wait_ms - 1)
    asked[0]?.answer({})
    await atRest()
    expect(whats()).toEqual([CONFIRM, 'drain'])
    expect(clock.armed()).toBe(0)
    asked[1]?.answer({ content: [] })
    await atRest()
    expect(outcomes).toEqual([{ content: [] }])
  })

  test('is refused once a client would have been for a hub that is away, and then never made', async () => {
    await clock.advance(LIMITS.bridge_wait_ms)
    expect(outcomes).toMatchObject([{ code: 'hub_unreachable' }])
    expect((outcomes[0] as TurnbellError).hint).toContain('Nothing was lost and nothing was done')
    asked[0]?.answer({})
    await atRest()
    expect(whats()).toEqual([CONFIRM])
    expect(outcomes).toHaveLength(1)
  })

  test('that was refused is in the way of no other, and the confirmation still goes first', async () => {
    await clock.advance(LIMITS.bridge_wait_ms)
    const next = drain()
    await clock.advance(LIMITS.bridge_wait_ms - 1)
    expect([whats(), next]).toEqual([[CONFIRM], []])
    asked[0]?.answer({})
    await atRest()
    expect(whats()).toEqual([CONFIRM, 'drain'])
  })

  test('waits for its own answer as long as that takes', async () => {
    asked[0]?.answer({})
    await atRest()
    await clock.advance(LIMITS.bridge_wait_ms * 2)
    expect([whats(), outcomes]).toEqual([[CONFIRM, 'drain'], []])
  })
})

const HANDED = { drain_id: DRAIN_ID, signal_ids: ['s1'] }
const RELEASE = '{"action":"release","params":{"signal_ids":["s1"]}}'
const LOOK = expect.stringContaining('"leased_to":"s"') as string

/** A drain whose answer the test gives; `then` says what becomes of it at once. */
function handing(then: () => void = () => undefined, signal_ids = ['s1']): unknown[] {
  const ask = () =>
    underWay('drain').then((answer) => {
      drains.handed('s', { ...HANDED, signal_ids })
      then()
      return answer
    })
  return watched(drains.take('s', ask))
}

describe('of two drains at once, the second', () => {
  test('goes behind the release of the first, where that was given up', async () => {
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
    ['gives it up', () => drains.release(['s1']), ['drain', RELEASE, 'drain']],
    [
      'has it for good',
      () => drains.confirm(DRAIN_ID),
      ['drain', expect.stringContaining('confirm'), 'drain'],
    ],
  ])('is not asked for before the client %s', async (_, becomes, expected) => {
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

  test('is refused where the client does not take the first, and others are said meanwhile', async () => {
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

  test('does not wait for one of no signals, which only a false hub hands out', async () => {
    handing(undefined, [])
    drain()
    await atRest()
    asked[0]?.answer({})
    await atRest()
    expect(whats()).toEqual(['drain', 'drain'])
  })

  test('is not in the way of another session, whose drain makes nothing of the first final', async () => {
    handing()
    await atRest()
    asked[0]?.answer({})
    await atRest()
    drain('another')
    await atRest()
    expect(whats()).toEqual(['drain', 'drain'])
  })
})

describe('a drain that could not be given back', () => {
  const REFUSED = {
    isError: true,
    structuredContent: toProblem(new TurnbellError('internal', { detail: 'x' }), 'i'),
  }

  test.each([
    ['is refused', () => asked[1]?.answer(REFUSED)],
    ['does not arrive', () => asked[1]?.fail(new AnswerLost(new Error('gone')))],
  ])('as its release %s is looked for before the next one', async (_, release) => {
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

  test('as too much waits to be said is looked for as well', async () => {
    const ids = Array.from({ length: LIMITS.bridge_confirms_max }, (_, nth) => `drain-${nth}`)
    for (const drain_id of ids) drains.confirm(drain_id)
    drains.handed('s', HANDED)
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

test('a lost drain goes back without another drain: the end of the turn would make it final', async () => {
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

test('a confirmed drain is not given back with a lost answer: the hub holds its lease until the turn ends', async () => {
  drains.handed('s', HANDED)
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

test('a refusal of a drain is no lost answer: nothing is looked for, and it is asked for once', async () => {
  const refusal = new TurnbellError('persona_wrapped', { detail: 'x' })
  const outcomes = drain()
  await atRest()
  asked[0]?.fail(refusal)
  await atRest()
  expect([outcomes, whats()]).toEqual([[refusal], ['drain']])
})

test('a drain behind another waits for it as long as that takes', async () => {
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

describe('what a lost drain may have left', () => {
  const ANOTHER_FORM = { content: [], structuredContent: { s: [{ sid: '6' }] } }
  const NO_PROBLEM = { content: [], structuredContent: { e: 'ur' }, isError: true }

  test.each([
    ['in another form', ANOTHER_FORM],
    ['as a refusal without a problem', NO_PROBLEM],
    ['in no form at all', { isError: 7 }],
  ])('and is told %s is a hub that does not answer, in the words of a refusal', async (_, told) => {
    const outcomes = drain()
    await atRest()
    asked[0]?.fail(new AnswerLost(new Error('gone')))
    await atRest()
    asked[1]?.answer(told)
    await atRest()
    // The first ask may have been heard: not that nothing was done.
    expect(outcomes).toMatchObject([
      {
        name: 'TurnbellError',
        code: 'hub_unreachable',
        hint: expect.stringContaining('may or may not') as string,
      },
    ])
    // It is looked for once more, as the end of a turn would make it final.
    expect(whats()).toEqual(['drain', expect.stringContaining('inbox'), expect.stringContaining('inbox')])
  })

  test('goes back page by page, as long as the pages go back in time', async () => {
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

  test('and is refused by the hub is told in its words', async () => {
    const outcomes = drain()
    await atRest()
    asked[0]?.fail(new AnswerLost(new Error('gone')))
    await atRest()
    asked[1]?.fail(new TurnbellError('facet_forbidden', { detail: 'closed' }))
    await atRest()
    expect(outcomes).toMatchObject([{ code: 'facet_forbidden' }])
  })

  test('is given back once more where the second ask was lost, too', async () => {
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

  test('is still given back before the next drain, once it is told', async () => {
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
