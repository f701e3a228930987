/** Tests each caller's share of the event loop: which calls run at once, wait, or are rejected. */
import { beforeEach, describe, expect, test } from 'vitest'
import { LIMITS } from '../../../src/contracts/limits/limits.ts'
import { createFairQueue, type FairQueue, type Leave } from '../../../src/kernel/fair-queue.ts'
import type { SentAnswer } from '../../../src/ports/sent-answer.ts'
import { refusedWith } from '../../support/worlds/small-hub.ts'

const ADA = { kind: 'agent', identity: 'ada' } as const
const BOB = { kind: 'agent', identity: 'bob' } as const

let now: number
let due: (() => void)[]
let queue: FairQueue
beforeEach(() => {
  now = 1_000
  due = []
  queue = createFairQueue({ monotonic: () => now, soon: (call) => void due.push(call) })
})

/** Waits for one tick of the event loop. */
async function tickOnce(): Promise<void> {
  for (const call of due.splice(0)) call()
  await new Promise((settled) => setImmediate(settled))
}

/** Enters the queue and records when it is admitted. */
function entering(caller: typeof ADA | typeof BOB, weight: 'look' | 'change' = 'look', answer?: SentAnswer) {
  const state: { leave: Leave | null; refused: unknown } = { leave: null, refused: null }
  const entered = queue.enter(caller, weight, answer)
  if (entered instanceof Promise)
    entered.then(
      (leave) => (state.leave = leave),
      (error: unknown) => (state.refused = error),
    )
  else state.leave = entered
  return state
}

describe('a caller', () => {
  test('a caller is admitted at once while few of its calls run', () => {
    const calls = Array.from({ length: LIMITS.reads_running_max }, () => entering(ADA))
    expect(calls.every(({ leave }) => leave !== null)).toBe(true)
    expect(entering(ADA).leave).toBeNull()
    expect(entering(BOB).leave).not.toBeNull()
    expect(entering(ADA, 'change').leave).not.toBeNull()
  })

  test('a caller is admitted again once one of its calls ends, in order', async () => {
    const calls = Array.from({ length: LIMITS.reads_running_max + 2 }, () => entering(ADA))
    const [first, second] = calls.slice(-2)
    calls[0]?.leave?.()
    calls[0]?.leave?.()
    await tickOnce()
    expect([first?.leave !== null, second?.leave !== null]).toEqual([true, false])
  })

  test('a caller that kept the loop busy waits for the next tick, and others do not', async () => {
    entering(ADA).leave?.()
    now += LIMITS.caller_slice_ms
    // The call ended only now, so its time was used up.
    const busy = entering(ADA)
    busy.leave?.()
    now += LIMITS.caller_slice_ms - 1
    entering(ADA).leave?.()
    now += 1
    const late = entering(ADA)
    expect(late.leave).toBeNull()
    expect(entering(BOB).leave).not.toBeNull()
    await tickOnce()
    expect(late.leave).not.toBeNull()
  })

  test('a caller starts calls in as many ticks as every other, however many of its calls wait', async () => {
    const waitingOf = (caller: typeof ADA | typeof BOB, count: number) => {
      for (let n = 0; n < LIMITS.reads_running_max; n++) entering(caller)
      return Array.from({ length: count }, () => entering(caller))
    }
    const running = Array.from({ length: LIMITS.reads_running_max }, () => entering(ADA))
    const ofAda = Array.from({ length: 500 }, () => entering(ADA))
    const ofBob = waitingOf(BOB, 2)
    now += LIMITS.waiting_slice_ms
    for (const { leave } of running) leave?.()
    await tickOnce()
    await tickOnce()
    expect(ofAda.filter(({ leave }) => leave !== null)).toHaveLength(2)
    expect(ofBob.filter(({ leave }) => leave !== null)).toHaveLength(0)
  })

  test('a caller whose waiting calls are short starts several of them in one tick, for a limited time', async () => {
    const running = Array.from({ length: LIMITS.reads_running_max }, () => entering(ADA))
    const waiting = Array.from({ length: 20 }, () => queue.enter(ADA, 'look') as Promise<Leave>)
    let ended = 0
    for (const call of waiting)
      void call.then((leave) => {
        now += LIMITS.waiting_slice_ms / 4
        ended += 1
        leave()
      })
    running[0]?.leave?.()
    await tickOnce()
    expect(ended).toBe(4)
    await tickOnce()
    expect(ended).toBe(8)
  })

  test('a caller is rejected when too many of its calls wait, and others are not', async () => {
    for (let n = 0; n < LIMITS.reads_running_max + LIMITS.calls_waiting_max; n++) entering(ADA)
    expect(await refusedWith(() => queue.enter(ADA, 'look'))).toBe('limit_reached')
    expect(entering(BOB).leave).not.toBeNull()
  })
})

describe('a waiting call whose client has disconnected', () => {
  test('a waiting call whose client has disconnected is dropped if it only reads, and runs if it makes a change', async () => {
    for (let n = 0; n < LIMITS.reads_running_max; n++) entering(ADA)
    for (let n = 0; n < LIMITS.changes_running_max; n++) entering(ADA, 'change')
    const broken = () => Promise.resolve('broken' as const)
    const gone: SentAnswer = { written: broken, received: broken }
    const look = entering(ADA, 'look', gone)
    const change = entering(ADA, 'change', gone)
    await tickOnce()
    expect(look.refused).toMatchObject({ code: 'request_invalid' })
    expect([change.refused, change.leave]).toEqual([null, null])
  })
})
