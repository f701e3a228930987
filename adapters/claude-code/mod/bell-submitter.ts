/**
 * Submits doorbells to the client, one at a time. The client holds a prompt that it cannot run yet, and answers when a
 * turn began with it or never will. Every doorbell is reported exactly once.
 */
import type { SubmitResult } from './engine.ts'
import { cut } from './fields.ts'
import type { DropReason, ModEvent } from './messages.ts'

export interface SubmittedBell {
  doorbell_id: string
  text: string
}

export interface BellSubmitterDeps {
  submit: (text: string) => Promise<SubmitResult>
  /** Whether a turn of the main agent runs; null if unknown. */
  busy: () => boolean | null
  report: (event: ModEvent) => void
}

export interface BellSubmitter {
  /** Whether the prompt contains the doorbell that is under way. The client adds a frame, and may join it with a waiting prompt. */
  isBell: (prompt: string) => boolean
  /** Resolves after the report; never rejects. */
  ring: (bell: SubmittedBell) => Promise<void>
}

export function bellSubmitter({ submit, busy, report }: BellSubmitterDeps): BellSubmitter {
  /** Text of the doorbell that the client has not answered. */
  let under_way: string | null = null
  return {
    isBell: (prompt) => under_way !== null && prompt.includes(under_way),
    async ring({ doorbell_id, text }) {
      const bell = { kind: 'bell', doorbell_id } as const
      if (under_way !== null || busy() === true) return report({ ...bell, dropped: 'busy' })
      under_way = text
      const drop = await submit(text).then(
        (result) => result.drop,
        (error: unknown) => String(error),
      )
      under_way = null
      report(drop === undefined ? bell : { ...bell, ...dropOf(drop) })
    },
  }
}

/** The client's words, as observed with versions 2.1.329 and 2.1.332. */
function dropOf(drop: string): { dropped: DropReason; detail?: string } {
  if (drop.startsWith('the session was stopped')) return { dropped: 'stopped' }
  if (drop.includes('removed from the queue')) return { dropped: 'dequeued' }
  return { dropped: 'failed', detail: cut(drop) }
}
