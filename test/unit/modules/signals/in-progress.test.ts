/** Signals that were drained in a turn that ended and were not completed: which session gets a notice, and how often. */
import { describe, expect, test } from 'vitest'
import { LIMITS } from '../../../../src/contracts/limits/limits.ts'
import { atRest } from '../../../support/fakes/fake-clock.ts'
import {
  agent,
  facts,
  OPERATOR,
  signalWorld,
  type SignalWorld,
} from '../../../support/worlds/signal-world.ts'
import { playedAnswer } from '../../../support/fakes/fake-answers.ts'

const FIRST = agent('bob', 'run-1')
const SECOND = agent('bob', 'run-2')
const THIRD = agent('bob', 'run-3')

/** A world where the first session drained `count` signals in a turn that ended, and completed none. */
async function inProgress(count = 1): Promise<{ world: SignalWorld; signal_ids: string[] }> {
  const world = await signalWorld()
  const signal_ids: string[] = []
  for (let n = 0; n < count; n++)
    signal_ids.push((await world.send({ to: 'bob', intent: `task-${n}` })).signal_id)
  await world.signals.turnReported('bob', 'run-1', 'busy', 1)
  for (let left = count; left > 0; left -= LIMITS.drain_limit_max)
    await world.drain(FIRST, { limit: LIMITS.drain_limit_max })
  await atRest()
  await world.signals.turnReported('bob', 'run-1', 'idle', 1)
  return { world, signal_ids }
}

/** Signals in the notice of a drain by this session; resolves once the answer was written. */
async function told(world: SignalWorld, session = SECOND): Promise<string[] | undefined> {
  const { in_progress } = await world.drain(session)
  await atRest()
  return in_progress?.map(({ signal_id }) => signal_id)
}

describe('the next session of a persona', () => {
  test("the next session gets one notice of the former session's signals in progress, in its first drain", async () => {
    const { world, signal_ids } = await inProgress()
    const view = await world.store.read(signal_ids[0]!)
    expect(await world.drain(SECOND)).toEqual({
      signals: [],
      remaining: 0,
      drain_id: null,
      in_progress: [
        { signal_id: signal_ids[0], from: 'alice', intent: 'task-0', drained_at: view?.stages.drained_at },
      ],
      in_progress_count: 1,
    })
    await atRest()
    expect(await told(world)).toBeUndefined()
    expect(await told(world, THIRD)).toBeUndefined()
  })

  test('the notice of signals in progress comes in addition to pending signals', async () => {
    const { world, signal_ids } = await inProgress()
    const { signal_id } = await world.send({ to: 'bob' })
    const drain = await world.drain(SECOND)
    expect(drain.signals.map((signal) => signal.signal_id)).toEqual([signal_id])
    expect(drain.in_progress).toMatchObject([{ signal_id: signal_ids[0] }])
  })

  test('a peek carries no notice, and the next drain still does', async () => {
    const { world, signal_ids } = await inProgress()
    expect(await world.drain(SECOND, { peek: true })).not.toHaveProperty('in_progress')
    expect(await told(world)).toEqual(signal_ids)
  })

  test('a notice in a broken answer is repeated', async () => {
    const { world, signal_ids } = await inProgress()
    await world.drain(SECOND, {}, playedAnswer('broken'))
    await atRest()
    expect(await told(world)).toEqual(signal_ids)
    expect(await told(world)).toBeUndefined()
  })

  test('two sessions that start at the same moment get one notice between them', async () => {
    const { world } = await inProgress()
    const [one, two] = await Promise.all([world.drain(SECOND), world.drain(THIRD)])
    expect([one.in_progress, two.in_progress].filter((list) => list !== undefined)).toHaveLength(1)
  })

  test('a notice is given after a restart of the hub, and not again after another restart', async () => {
    const { world, signal_ids } = await inProgress()
    const second = await world.restart()
    expect(await told(second)).toEqual(signal_ids)
    const third = await second.restart()
    expect(await told(third, SECOND)).toBeUndefined()
    expect(await told(third, THIRD)).toBeUndefined()
  })

  test('a notice lists the newest signals and their total number', async () => {
    const count = LIMITS.in_progress_shown_max + 3
    const { world, signal_ids } = await inProgress(count)
    const drain = await world.drain(SECOND)
    expect(drain.in_progress?.map(({ signal_id }) => signal_id)).toEqual(
      signal_ids.toReversed().slice(0, LIMITS.in_progress_shown_max),
    )
    expect(drain.in_progress_count).toBe(count)
    await atRest()
    expect(await told(world, THIRD)).toBeUndefined()
  })

  test('completed signals and those still in a turn are not in the notice', async () => {
    const { world, signal_ids } = await inProgress(2)
    await world.send({ to: 'bob' })
    await world.signals.turnReported('bob', 'run-1', 'busy', 2)
    await world.drain(FIRST)
    await world.signals.ack(FIRST, { signal_ids: [signal_ids[1]!] })
    expect(await told(world)).toEqual([signal_ids[0]])
  })

  test('signals drained by a session that is still present are not in the notice', async () => {
    const { world, signal_ids } = await inProgress()
    const ticket = world.join('bob', 'daemon')
    world.registrations.heartbeat(ticket, facts('run-1', 'idle', 1))
    expect(await told(world)).toBeUndefined()
    world.registrations.heartbeat(ticket, facts('run-3', 'busy', 1))
    expect(await told(world, THIRD)).toEqual(signal_ids)
  })

  test('a signal released by the death of its session is delivered again and is not in the notice', async () => {
    const world = await signalWorld()
    const { signal_id } = await world.send({ to: 'bob' })
    await world.signals.turnReported('bob', 'run-1', 'busy', 1)
    await world.drain(FIRST)
    await atRest()
    await world.signals.sessionLost('bob', 'run-1')
    const drain = await world.drain(SECOND)
    expect(drain.signals).toMatchObject([{ signal_id, deliveries: 2 }])
    expect(drain).not.toHaveProperty('in_progress')
  })
})

test('a session gets no notice of its own signals, also after a restart of the hub', async () => {
  const { world } = await inProgress()
  expect(await told(world, FIRST)).toBeUndefined()
  expect(await told(await world.restart(), FIRST)).toBeUndefined()
})

test('the list of signals in progress has no effect on the notice, and the inbox shows the same signals', async () => {
  const { world, signal_ids } = await inProgress()
  const list = await world.signals.inProgress('bob')
  expect(list).toMatchObject({ count: 1, signals: [{ signal_id: signal_ids[0], intent: 'task-0' }] })
  expect(world.signals.inProgressCount('bob')).toBe(1)
  expect(world.signals.peek('bob', 10).in_progress_count).toBe(1)
  const inbox = await world.signals.inbox(OPERATOR, { to: 'bob', status: ['acked'], limit: 10 })
  expect(inbox.signals.map(({ signal_id }) => signal_id)).toEqual(signal_ids)
  expect(await told(world)).toEqual(signal_ids)
})
