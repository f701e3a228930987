import { expect, test } from 'vitest'
import { createEventQueue } from '../../../../../adapters/claude-code/mod/event-queue.ts'
import { LIMITS } from '../../../../../src/contracts/limits/limits.ts'
import type { ModEvent } from '../../../../../adapters/claude-code/mod/messages.ts'

const turn = (n: number): ModEvent => ({ kind: 'turn_started', turn: String(n) })

function filled(count: number) {
  let ms = 1_000
  const queue = createEventQueue(() => ms++)
  for (let n = 1; n <= count; n++) queue.push(turn(n))
  return queue
}
const turnsOf = ({ events }: { events: object[] }) => events.map((event) => (event as { turn: string }).turn)

test('events are numbered from 1 and have the time of their push', () => {
  expect(filled(2).batch('e1')).toEqual({
    epoch: 'e1',
    lost: 0,
    events: [
      { seq: 1, at: 1_000, ...turn(1) },
      { seq: 2, at: 1_001, ...turn(2) },
    ],
  })
})

test('a batch is limited, and the next one continues its numbers', () => {
  const queue = filled(LIMITS.mod_batch_events_max + 1)
  expect(queue.batch('e1').events).toHaveLength(LIMITS.mod_batch_events_max)
  queue.sent()
  expect(queue.waiting()).toBe(1)
  expect(queue.batch('e1').events).toMatchObject([{ seq: LIMITS.mod_batch_events_max + 1 }])
})

test('a batch whose response was lost is repeated unchanged, although events came meanwhile', () => {
  const queue = filled(2)
  const first = queue.batch('e1')
  for (let n = 3; n <= LIMITS.mod_events_waiting_max + 10; n++) queue.push(turn(n))
  expect(queue.batch('e1')).toEqual(first)
})

test('a full queue drops its oldest event that was not sent, and counts it once', () => {
  const queue = filled(2)
  queue.batch('e1')
  for (let n = 3; n <= LIMITS.mod_events_waiting_max + 3; n++) queue.push(turn(n))
  expect(queue.waiting()).toBe(LIMITS.mod_events_waiting_max)
  queue.sent()
  const next = queue.batch('e1')
  expect(next.lost).toBe(3)
  expect(turnsOf(next)[0]).toBe('6')
  expect(next.events[0]?.seq).toBe(3)
  queue.sent()
  expect(queue.batch('e1').lost).toBe(0)
})

test('a full queue keeps the outcomes of doorbells', () => {
  const queue = createEventQueue(() => 0)
  queue.push({ kind: 'bell', doorbell_id: 'b1' })
  for (let n = 1; n <= LIMITS.mod_events_waiting_max; n++) queue.push(turn(n))
  expect(queue.bells()).toEqual(['b1'])
  const { lost, events } = queue.batch('e1')
  expect([lost, events[0], events[1]]).toMatchObject([1, { kind: 'bell' }, { turn: '2' }])
})

test('the same events are numbered from 1 in a new epoch', () => {
  const queue = filled(1)
  queue.batch('e1')
  queue.sent()
  queue.push(turn(2))
  queue.batch('e1')
  queue.renumber()
  expect(queue.batch('e2')).toMatchObject({ epoch: 'e2', events: [{ seq: 1, turn: '2' }] })
})

test('a rejected batch counts as lost', () => {
  const queue = filled(3)
  queue.batch('e1')
  queue.rejected()
  queue.push(turn(4))
  expect(queue.batch('e1')).toMatchObject({ lost: 3, events: [{ seq: 1, turn: '4' }] })
})

test('a closed queue drops everything until it is opened', () => {
  const queue = filled(3)
  queue.batch('e1')
  queue.close()
  queue.push(turn(4))
  expect(queue.waiting()).toBe(0)
  queue.open()
  queue.push(turn(5))
  expect(queue.batch('e1')).toMatchObject({ lost: 0, events: [{ seq: 1, turn: '5' }] })
})

const withText = (n: number, length: number): ModEvent =>
  ({ ...turn(n), content: 'x'.repeat(length) }) as ModEvent

test('content is kept until the worker has answered, and sent only if it wants content', () => {
  const queue = createEventQueue(() => 0)
  queue.push(withText(1, 3))
  expect(queue.takesContent()).toBe(true)
  queue.setContent(false)
  expect(queue.batch('e1').events[0]).not.toHaveProperty('content')
  expect(queue.takesContent()).toBe(false)
  queue.setContent(true)
  expect(queue.batch('e2').events[0]).toMatchObject({ content: 'xxx' })
  queue.close()
  expect(queue.takesContent()).toBe(false)
})

test('a batch is limited by bytes, but has at least one event, which the worker accepts in any case', () => {
  const queue = createEventQueue(() => 0)
  const worst = '\u0001'.repeat(LIMITS.mod_content_length_max)
  queue.push({ ...turn(1), content: worst } as ModEvent)
  for (let n = 2; n <= 9; n++) queue.push(withText(n, 70_000))
  const sizes: number[] = []
  while (queue.waiting() > 0) {
    const batch = queue.batch('e1')
    sizes.push(batch.events.length)
    expect(Buffer.byteLength(JSON.stringify(batch))).toBeLessThan(LIMITS.mod_batch_bytes_max + 1_024)
    queue.sent()
  }
  expect(sizes).toEqual([2, 7])
})

test('events keep coming without content while too many bytes wait', () => {
  const queue = createEventQueue(() => 0)
  for (let n = 1; n <= 100; n++) queue.push(withText(n, 60_000))
  expect(queue.waiting()).toBe(100)
  const events: object[] = []
  while (queue.waiting() > 0) {
    events.push(...queue.batch('e1').events)
    queue.sent()
  }
  expect(events).toHaveLength(100)
  expect(events[60]).toHaveProperty('content')
  expect(events[99]).not.toHaveProperty('content')
  queue.push(withText(101, 3))
  expect(queue.batch('e1').events[0]).toMatchObject({ content: 'xxx' })
})
