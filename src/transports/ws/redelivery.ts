/**
 * Resends critical events (of tasks and messages) a few times until the client acknowledges them. In memory only, because
 * these events are not signals.
 */
import { LIMITS } from '../../contracts/limits/limits.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Link } from './link.ts'

export interface Redelivery {
  track(link: Link, message_id: string, text: string): void
  /** Has no effect for an unknown message. */
  ack(link: Link, message_id: string): void
  /** Resends due events and drops those after the last try. Called every `critical_check_ms`. */
  check(): void
  forget(link: Link): void
  /** Returns the number of events that were never acknowledged. */
  dropped(): number
}

interface Tracked {
  text: string
  sent_at: number
  tries: number
}

export function createRedelivery({ clock }: { clock: Clock }): Redelivery {
  const unacked = new Map<Link, Map<string, Tracked>>()
  let dropped = 0

  return {
    track(link, message_id, text) {
      let messages = unacked.get(link)
      if (!messages) unacked.set(link, (messages = new Map<string, Tracked>()))
      messages.set(message_id, { text, sent_at: clock.monotonic(), tries: 1 })
      if (messages.size <= LIMITS.critical_unacked_max) return
      const [oldest] = messages.keys()
      if (oldest !== undefined && messages.delete(oldest)) dropped += 1
    },

    ack(link, message_id) {
      const messages = unacked.get(link)
      messages?.delete(message_id)
      if (messages?.size === 0) unacked.delete(link)
    },

    check() {
      const now = clock.monotonic()
      for (const [link, messages] of unacked) {
        for (const [message_id, message] of messages) {
          if (now - message.sent_at < LIMITS.critical_resend_ms) continue
          if (message.tries >= LIMITS.critical_tries_max) {
            messages.delete(message_id)
            dropped += 1
            continue
          }
          message.tries += 1
          message.sent_at = now
          link.sendText(message.text)
        }
        if (messages.size === 0) unacked.delete(link)
      }
    },

    forget: (link) => void unacked.delete(link),
    dropped: () => dropped,
  }
}
