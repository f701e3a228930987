import { expect, test } from 'vitest'
import { LIMITS } from '../../../src/contracts/limits/limits.ts'
import { createMailbox } from '../../../src/daemon/mailbox.ts'
import { silentLog } from '../../../src/ports/log.ts'
import { fakeClock, seededRandom } from '../../support/fakes/fake-clock.ts'
import { countedId, RULES } from '../../support/worlds/machine-world.ts'

test('a deadline beyond the longest timer is waited for in several timers', async () => {
  const clock = fakeClock()
  const patience_ms = 2 * LIMITS.timer_max_ms
  const rung: number[] = []
  const mailbox = createMailbox({
    input: {
      identity: 'ada',
      surface: 'claude-code',
      rules: { ...RULES, reconnect_patience_ms: patience_ms, receipts: false },
    },
    clock,
    random: seededRandom(),
    log: silentLog,
    onBug: (error) => expect.unreachable(String(error)),
  })
  mailbox.attach({
    perform: (effect) => void (effect.type === 'ring' && rung.push(clock.monotonic())),
  })
  const report = { surface: 'mcp', session_id: 's', delivery: 'push', turn: 'idle', turn_seq: 0 } as const
  mailbox.post({ type: 'LINK_UP' })
  mailbox.post({ type: 'SURFACE_REPORTED', report, same_shim: false, request: 1 })
  const entry = { signal_id: countedId('S', 1), seq: 1, from: 'bob', intent: 'x', priority: 1 }
  mailbox.post({
    type: 'PENDING_LISTED',
    peek_id: 'reconcile-1',
    signals: [entry],
    total: 1,
    as_of_seq: 1,
    doorbell_id: countedId('B', 1),
  })
  expect(clock.nextIn()).toBe(LIMITS.timer_max_ms)
  await clock.advance(LIMITS.timer_max_ms)
  expect(rung).toEqual([])
  expect(clock.nextIn()).toBe(LIMITS.timer_max_ms)
})
