/** Tests what the worker reads at the hub for the client, and when. */
import { beforeEach, describe, expect, test } from 'vitest'
import type { ViewUpdate } from '../../../../adapters/claude-code/mod/messages.ts'
import { createViewFeed, type ViewFeed } from '../../../../adapters/claude-code/view-feed.ts'
import { TurnbellError } from '../../../../src/contracts/errors/errors.ts'
import { LIMITS } from '../../../../src/contracts/limits/limits.ts'
import type { TeamView } from '../../../../src/contracts/team-view.ts'
import { silentLog } from '../../../../src/ports/log.ts'
import { atRest, fakeClock, type FakeClock } from '../../../support/fakes/fake-clock.ts'
import { teamView } from '../../../support/fakes/fake-team-view.ts'

const AWAY = new TurnbellError('hub_unreachable', { detail: 'hub away' })

let clock: FakeClock
let feed: ViewFeed
let hub: TeamView | Error
let reads: number
let shown: Omit<ViewUpdate, 'version'>[]
let hold: Promise<void> | null

beforeEach(() => {
  clock = fakeClock()
  hub = teamView()
  reads = 0
  shown = []
  hold = null
  feed = createViewFeed({
    persona: 'ada',
    async read() {
      reads++
      await hold
      if (hub instanceof Error) throw hub
      return hub
    },
    show: (view, arrived) => void shown.push(arrived === undefined ? { view } : { view, arrived }),
    clock,
    log: silentLog,
  })
})

const start = async () => {
  feed.start()
  await atRest()
}
const next = () => clock.advance(LIMITS.mod_view_ms)
const inbox = (...newest: [string, string][]) =>
  teamView({
    person: {
      pending_count: newest.length,
      newest: newest.map(([signal_id, from]) => ({ signal_id, from })).toReversed(),
    },
  })

describe('reads', () => {
  test('the hub is read at the start and at intervals, and only a change is shown', async () => {
    await start()
    await next()
    expect([reads, shown]).toEqual([2, [{ view: { persona: 'ada', team: teamView() } }]])
    hub = teamView({ blocks: ['bob'] })
    await next()
    expect(shown).toHaveLength(2)
  })

  test('nothing is read before the start and after the stop', async () => {
    feed.refresh()
    await next()
    await start()
    feed.stop()
    feed.refresh()
    await next()
    expect([reads, clock.armed()]).toEqual([1, 0])
  })

  test('a change is read early, but not more often than the limit allows', async () => {
    await start()
    for (let nth = 0; nth < 5; nth++) feed.refresh()
    await clock.advance(LIMITS.mod_view_min_ms - 1)
    expect(reads).toBe(1)
    await clock.advance(1)
    expect(reads).toBe(2)
    await clock.advance(LIMITS.mod_view_min_ms)
    feed.refresh()
    await clock.advance(0)
    expect(reads).toBe(3)
  })

  test('a change during a read is read after it', async () => {
    let release = () => {}
    hold = new Promise((resolve) => (release = resolve))
    await start()
    feed.refresh()
    await next()
    expect(reads).toBe(1)
    release()
    await atRest()
    await clock.advance(LIMITS.mod_view_min_ms)
    expect(reads).toBe(2)
  })

  test('a feed that is started again during a read reads once at a time', async () => {
    let release = () => {}
    hold = new Promise((resolve) => (release = resolve))
    await start()
    feed.stop()
    await start()
    release()
    await atRest()
    await next()
    expect([reads, clock.armed()]).toEqual([2, 1])
  })
})

describe('a hub that does not respond', () => {
  test('the last view remains for one failed read, and is replaced after the next', async () => {
    await start()
    hub = AWAY
    await next()
    expect(shown).toHaveLength(1)
    await next()
    await next()
    expect(shown.slice(1)).toEqual([{ view: { persona: 'ada', team: null } }])
    hub = teamView()
    await next()
    expect(shown.at(-1)).toEqual(shown[0])
  })
})

test.each([
  new TurnbellError('store_unavailable', { detail: 'disk full' }),
  new TurnbellError('kind_forbidden', { detail: 'no agent' }),
  new Error('the server answered 404'),
])('a hub that answers without a team view is not reported as unreachable', async (error) => {
  hub = error
  await start()
  await next()
  expect(shown).toEqual([{ view: { persona: 'ada', team: null, refused: true } }])
})

describe("the person's inbox", () => {
  const ONE: [string, string] = ['01JZ0000000000000000000001', 'bob']
  const TWO: [string, string] = ['01JZ0000000000000000000002', 'cyd']
  const THREE: [string, string] = ['01JZ0000000000000000000003', 'cyd']
  const arrivals = () => shown.flatMap(({ arrived }) => (arrived === undefined ? [] : [arrived]))

  test('signals that arrive after the first read are new once, together with their senders', async () => {
    hub = inbox(ONE)
    await start()
    hub = inbox(ONE, TWO, THREE)
    await next()
    await next()
    expect(arrivals()).toEqual([{ count: 2, from: ['cyd'] }])
  })

  test('there may be more new signals than listed ones if all of these are new', async () => {
    hub = inbox(ONE)
    await start()
    const { person } = inbox(TWO, THREE)
    hub = teamView({ person: { ...person, pending_count: 9 } })
    await next()
    expect(arrivals()).toEqual([{ count: 2, from: ['cyd'], more: true }])
  })

  test('a signal that comes into the list again because others were taken is not new', async () => {
    hub = inbox(TWO)
    await start()
    hub = inbox(ONE, TWO)
    await next()
    hub = inbox()
    await next()
    hub = inbox(TWO)
    await next()
    expect(arrivals()).toEqual([])
  })

  test('a signal that arrives while no module is there is new afterwards', async () => {
    await start()
    feed.stop()
    hub = inbox(ONE)
    await start()
    expect(arrivals()).toEqual([{ count: 1, from: ['bob'] }])
  })
})
