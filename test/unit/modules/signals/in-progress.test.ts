/** Signals that were drained in a turn that ended and were not completed: who is told of them, and how often. */
import { describe, expect, test } from 'vitest'
import { LIMITS } from '../../../../src/contracts/limits.ts'
import { atRest } from '../../../support/fake-clock.ts'
import {
  agent,
  BROKEN,
  facts,
  OPERATOR,
  signalWorld,
  type SignalWorld,
} from '../../../support/signal-world.ts'

const FIRST = agent('bob', 'run-1')
const SECOND = agent('bob', 'run-2')
const THIRD = agent('bob', 'run-3')

/** The first session has drained these in a turn that ended, and completed none of them. */
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

/** What a drain of this session says of earlier ones; the answer has left when this resolves. */
async function told(world: SignalWorld, session = SECOND): Promise<string[] | undefined> {
  const { in_progress } = await world.drain(session)
  await atRest()
  return in_progress?.map(({ signal_id }) => signal_id)
}

describe('the next session of a persona', () => {
  test('is told with its first drain, once, what the former one has in progress', async () => {
    const { world, signal_ids } = await inProgress()
    const view = await world.store.read(signal_ids[0]!)
    expect(await world.drain(SECOND)).toEqual({
      ...{ signals: [], remaining: 0, drain_id: null },
      in_progress: [
        { signal_id: signal_ids[0], from: 'alice', intent: 'task-0', drained_at: view?.stages.drained_at },
      ],
      in_progress_count: 1,
    })
    await atRest()
    expect(await told(world)).toBeUndefined()
    expect(await told(world, THIRD)).toBeUndefined()
  })

  test('is told beside the signals that wait', async () => {
    const { world, signal_ids } = await inProgress()
    const { signal_id } = await world.send({ to: 'bob' })
    const drain = await world.drain(SECOND)
    expect(drain.signals.map((signal) => signal.signal_id)).toEqual([signal_id])
    expect(drain.in_progress).toMatchObject([{ signal_id: signal_ids[0] }])
  })

  test('is not told by a peek, which leaves it to the drain', async () => {
    const { world, signal_ids } = await inProgress()
    expect(await world.drain(SECOND, { peek: true })).not.toHaveProperty('in_progress')
    expect(await told(world)).toEqual(signal_ids)
  })

  test('is told again where the answer broke', async () => {
    const { world, signal_ids } = await inProgress()
    await world.drain(SECOND, {}, BROKEN)
    await atRest()
    expect(await told(world)).toEqual(signal_ids)
    expect(await told(world)).toBeUndefined()
  })

  test('is told once where two begin at the same moment', async () => {
    const { world } = await inProgress()
    const [one, two] = await Promise.all([world.drain(SECOND), world.drain(THIRD)])
    expect([one.in_progress, two.in_progress].filter((list) => list !== undefined)).toHaveLength(1)
  })

  test('is told after a restart of the hub, and not again after another one', async () => {
    const { world, signal_ids } = await inProgress()
    const second = await world.restart()
    expect(await told(second)).toEqual(signal_ids)
    const third = await second.restart()
    expect(await told(third, SECOND)).toBeUndefined()
    expect(await told(third, THIRD)).toBeUndefined()
  })

  test('is told of the newest, and how many there are', async () => {
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

  test('is not told of what was completed, or is still in a turn', async () => {
    const { world, signal_ids } = await inProgress(2)
    await world.send({ to: 'bob' })
    await world.signals.turnReported('bob', 'run-1', 'busy', 2)
    await world.drain(FIRST)
    await world.signals.ack(FIRST, { signal_ids: [signal_ids[1]!] })
    expect(await told(world)).toEqual([signal_ids[0]])
  })

  test('is not told of what a session that is still there has drained', async () => {
    const { world, signal_ids } = await inProgress()
    const ticket = world.join('bob', 'daemon')
    world.registrations.heartbeat(ticket, facts('run-1', 'idle', 1))
    expect(await told(world)).toBeUndefined()
    world.registrations.heartbeat(ticket, facts('run-3', 'busy', 1))
    expect(await told(world, THIRD)).toEqual(signal_ids)
  })

  test('gets a signal back, and is told nothing of it, where the former one died in its turn', async () => {
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

test('a session is not told of its own signals, also where the hub restarts under it', async () => {
  const { world } = await inProgress()
  expect(await told(world, FIRST)).toBeUndefined()
  expect(await told(await world.restart(), FIRST)).toBeUndefined()
})

test('the list of signals in progress tells nobody, and the inbox shows the same signals', async () => {
  const { world, signal_ids } = await inProgress()
  const list = await world.signals.inProgress('bob')
  expect(list).toMatchObject({ count: 1, signals: [{ signal_id: signal_ids[0], intent: 'task-0' }] })
  expect(world.signals.inProgressCount('bob')).toBe(1)
  expect(world.signals.peek('bob', 10).in_progress_count).toBe(1)
  const inbox = await world.signals.inbox(OPERATOR, { to: 'bob', status: ['acked'], limit: 10 })
  expect(inbox.signals.map(({ signal_id }) => signal_id)).toEqual(signal_ids)
  expect(await told(world)).toEqual(signal_ids)
})
