/** Tests that a peek over a link is ordered with the other calls of its caller. */
import { expect, test } from 'vitest'
import { handleFrame, type FrameDeps } from '../../../src/transports/ws/frame-handlers.ts'
import { createFairQueue } from '../../../src/kernel/fair-queue.ts'
import { LIMITS } from '../../../src/contracts/limits/limits.ts'

test('concurrent peeks are answered until their caller has used its time, then one per tick', async () => {
  let now = 0
  const due: (() => void)[] = []
  const sent: object[] = []
  const needs = {
    queue: createFairQueue({ monotonic: () => now, soon: (call) => void due.push(call) }),
    registrations: { rows: () => [] },
    signals: {
      peek() {
        now += LIMITS.caller_slice_ms / 2
        return { total: 0, signals: [], in_progress: 0 }
      },
    },
  } as unknown as FrameDeps
  const caller = { tenant_id: 'local', kind: 'agent', identity: 'mallory', session_id: 's' }
  const link = { member: { ...caller, caller }, send: (frame: object) => sent.push(frame) } as never
  const answered = Array.from({ length: 5 }, (_, id) =>
    Promise.resolve(handleFrame(needs, link, { type: 'pending.peek', id })),
  )
  expect(sent).toHaveLength(2)
  due.shift()?.()
  await answered[2]
  expect(sent).toHaveLength(3)
  while (due.length > 0) {
    due.shift()?.()
    await Promise.resolve()
  }
  await Promise.all(answered)
  expect(sent.map((frame) => (frame as { id: number }).id)).toEqual([0, 1, 2, 3, 4])
})
