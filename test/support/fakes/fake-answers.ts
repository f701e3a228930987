/** Fake responses whose delivery a test controls. */
import type { SentAnswer } from '../../../src/ports/sent-answer.ts'

export type Fate = 'received' | 'written' | 'lost' | 'broken' | 'never'

export interface PlayedAnswer extends SentAnswer {
  /** `written` may be followed by `received` or `lost`; later calls have no effect. */
  becomes(fate: Fate): void
}

export function playedAnswer(fate: Fate = 'never'): PlayedAnswer {
  let write!: (how: 'written' | 'broken') => void
  let receive!: (how: 'received' | 'broken') => void
  const written = new Promise<'written' | 'broken'>((resolve) => (write = resolve))
  const received = new Promise<'received' | 'broken'>((resolve) => (receive = resolve))
  const becomes = (how: Fate) => {
    if (how === 'never') return
    write(how === 'broken' ? 'broken' : 'written')
    if (how !== 'written') receive(how === 'received' ? 'received' : 'broken')
  }
  becomes(fate)
  return { written: () => written, received: () => received, becomes }
}
