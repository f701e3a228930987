/** Prints and records the demo's steps with their times, and waits between them. */
import { TurnbellError } from '../../contracts/errors/errors.ts'
import type { Clock } from '../../ports/clock.ts'
import { pause } from '../../ports/pause.ts'

export interface Step {
  at_ms: number
  text: string
}

export interface Story {
  steps: Step[]
  chapter(title: string): void
  step(text: string): void
  elapsed_ms(): number
  /** Polls a condition. Throws `timed_out` after `TIMEOUT_MS`. */
  until<T>(what: string, probe: () => Promise<T> | T): Promise<NonNullable<Exclude<T, false>>>
  /** Reports an error outside the script, which the next wait throws. */
  broken: (error: unknown) => void
}

const POLL_MS = 10
const TIMEOUT_MS = 15_000

export function createStory(clock: Clock, print: (line: string, kind: 'chapter' | 'step') => void): Story {
  const started = clock.monotonic()
  const steps: Step[] = []
  let failure: { error: unknown } | null = null
  const elapsed_ms = () => Math.round(clock.monotonic() - started)
  const story: Story = {
    steps,
    elapsed_ms,
    chapter: (title) => print(title, 'chapter'),
    step(text) {
      const at_ms = elapsed_ms()
      steps.push({ at_ms, text })
      print(`${String(at_ms).padStart(6)} ms  ${text}`, 'step')
    },
    async until(what, probe) {
      const deadline = clock.monotonic() + TIMEOUT_MS
      for (;;) {
        if (failure !== null) throw failure.error
        const value = await probe()
        if (value !== false && value !== null && value !== undefined) return value as never
        if (clock.monotonic() > deadline) {
          throw new TurnbellError('timed_out', {
            detail: `Not reached within ${TIMEOUT_MS} ms: ${what}.`,
            hint: 'Run `turnbell demo --keep` and read the logs of its home.',
          })
        }
        await pause(clock, POLL_MS)
      }
    },
    broken: (error) => void (failure ??= { error }),
  }
  return story
}
