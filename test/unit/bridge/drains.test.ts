/** What is said of drains, in which order, and who waits for whom. */
import { beforeEach, describe, expect, test } from 'vitest'
import { TurnbellError } from '../../../src/contracts/errors.ts'
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

const drain = () => watched(drains.take('s', () => underWay('drain')))
const whats = () => asked.map(({ what }) => what)

describe('a drain behind a confirmation', () => {
  const CONFIRM = `{"peek":true,"limit":1,"confirm":"${DRAIN_ID}"}`
  let outcomes: unknown[]
  beforeEach(async () => {
    drains.handed({ drain_id: DRAIN_ID, signal_ids: [] })
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
    expect(whats()).toEqual(['drain', expect.stringContaining('inbox')])
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
