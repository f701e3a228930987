/**
 * Calls `beat` after `mod_beat_ms` without a message. One timer runs at a time, because a message may be sent every few
 * milliseconds.
 */
import type { Timer } from '../../../src/ports/clock.ts'
import { CLAUDE_MODULE_LIMITS as LIMITS } from '../../../src/contracts/limits/claude-module.ts'

export interface HeartbeatDeps {
  beat: () => void
  /** Milliseconds. */
  now: () => number
  after: (delay_ms: number, call: () => void) => Timer
}

export interface Heartbeat {
  /** A message was sent. */
  sent: () => void
  stop: () => void
}

export function createHeartbeat({ beat, now, after }: HeartbeatDeps): Heartbeat {
  let timer: Timer | null = null
  let sent_ms = 0

  function arm(delay_ms: number): void {
    timer ??= after(delay_ms, () => {
      timer = null
      const idle_ms = now() - sent_ms
      // The clock of the machine may have been set back.
      if (idle_ms >= LIMITS.mod_beat_ms || idle_ms < 0) beat()
      else arm(LIMITS.mod_beat_ms - idle_ms)
    })
  }

  return {
    sent() {
      sent_ms = now()
      arm(LIMITS.mod_beat_ms)
    },
    stop() {
      timer?.cancel()
      timer = null
    },
  }
}
