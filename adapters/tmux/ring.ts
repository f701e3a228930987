/**
 * Rings a pane: pastes the doorbell, reads it back, and only then presses Enter. If a person types in between, Enter is
 * not pressed, and the text is left to the person.
 */
import { withoutSpace } from './cells.ts'
import { bellEntered, bellPressed, screenRead, type TrackedPane } from './pane-tracker.ts'
import type { PaneReader, ReadScreen } from './pane-reader.ts'
import type { Pane } from './pane.ts'
import type { Reading } from './reader.ts'
import { bellInComposer, showsBell } from './screen.ts'
import { DEFERRED, FAILED, UNAVAILABLE } from '../surface-results.ts'
import type { Tracked } from '../tracked-state.ts'
import type { RingResult } from '../../src/contracts/control.ts'
import type { Doorbell } from '../../src/contracts/doorbell.ts'
import { LIMITS } from '../../src/contracts/limits/limits.ts'
import type { Clock } from '../../src/ports/clock.ts'
import type { Log } from '../../src/ports/log.ts'
import { pause } from '../../src/ports/pause.ts'

export interface PaneRinger {
  /** Rings. Calls must not overlap. Throws the errors of the pane. */
  ring(doorbell: Doorbell): Promise<RingResult>
}

export interface PaneRingerDeps {
  pane: Pane
  tracked: Tracked<TrackedPane>
  reader: PaneReader
  clock: Clock
  log: Log
}

export function paneRinger(deps: PaneRingerDeps): PaneRinger {
  const { pane, tracked, reader, clock, log } = deps

  /** Pastes the doorbell into the prompt and presses Enter, both before the deadline. */
  async function typeBell(
    prompt: ReadScreen,
    { doorbell_id, text: bell_text }: Doorbell,
    deadline: number,
  ): Promise<{ text: string } | RingResult> {
    // A doorbell left by an earlier ring is entered instead of a second one, because its text is still valid.
    const composer_bell = bellInComposer(prompt.reading)
    const text = composer_bell ?? bell_text
    if (clock.monotonic() > deadline - LIMITS.tmux_typed_ms) return DEFERRED
    if (composer_bell === null && !(await pane.paste(text, prompt.look))) return DEFERRED
    const isPasted = ({ state, draft }: Reading) => state === 'draft' && draft === withoutSpace(text)
    const pasted = await readUntil(isPasted, deps)
    if (!pasted.held || pasted.seen === null) {
      log.warn(
        { doorbell_id, found: pasted.seen?.reading.state },
        'composer contains other text; Enter not pressed',
      )
      return FAILED
    }
    if (clock.monotonic() > deadline) return DEFERRED
    if (!(await pane.enter(pasted.seen.look, visibleEnd(pasted.seen, text)))) {
      log.warn({ doorbell_id }, 'screen changed; Enter not pressed')
      return DEFERRED
    }
    return { text }
  }

  return {
    async ring(doorbell) {
      const { doorbell_id } = doorbell
      // On a slow machine a ring must not be entered late, because the daemon may have sent the next one.
      const deadline = clock.monotonic() + LIMITS.tmux_enter_by_ms
      await reader.pendingRead()
      const prompt = await stablePrompt(deps)
      if (prompt === null) return tracked.state().has_client ? DEFERRED : UNAVAILABLE
      const typed = await typeBell(prompt, doorbell, deadline)
      if (!('text' in typed)) return typed
      const { text } = typed
      const sent = await readUntil((reading) => hasLeftComposer(reading, text), deps)
      const now = clock.monotonic()
      if (!sent.held || sent.seen === null) {
        // opencode may create a session first. A second Enter would send a second message, so the receipt is awaited.
        log.warn(
          { doorbell_id, found: sent.seen?.reading.state },
          'Enter pressed; doorbell still in the composer',
        )
        tracked.move(bellPressed(tracked.state(), { doorbell_id, text }, now))
        return { accepted: true, proof: 'sent' }
      }
      const entered = bellEntered(tracked.state(), { doorbell_id, text }, now)
      tracked.move(screenRead(entered, sent.seen.reading, now))
      const is_seen = tracked.state().seen_doorbell_id === doorbell_id
      return { accepted: true, proof: is_seen ? 'confirmed' : 'sent' }
    },
  }
}

/** Returns the prompt once two successive readings are equal. Retries for a while, because clients change their hints. */
async function stablePrompt({ tracked, reader, clock }: PaneRingerDeps): Promise<ReadScreen | null> {
  const deadline = clock.monotonic() + LIMITS.tmux_prompt_ms
  let before = await reader.readAndTrack(true)
  for (;;) {
    if (before === null || tracked.state().turn !== 'idle') return null
    await pause(clock, LIMITS.tmux_settle_ms)
    const now = await reader.readAndTrack()
    if (now === null || tracked.state().turn !== 'idle') return null
    if (isUnchanged(before, now)) return now
    if (clock.monotonic() >= deadline) return null
    before = now
  }
}

/** Reads until the condition holds, the pane has no known client, or a timeout passes. Returns the last reading. */
async function readUntil(
  condition: (reading: Reading) => boolean,
  { reader, clock }: PaneRingerDeps,
): Promise<{ held: boolean; seen: ReadScreen | null }> {
  const deadline = clock.monotonic() + LIMITS.tmux_typed_ms
  for (;;) {
    // The turn is not updated, because a partly drawn doorbell is not a person's draft.
    const seen = await reader.read()
    const held = seen !== null && condition(seen.reading)
    if (held || seen === null || clock.monotonic() >= deadline) return { held, seen }
    await pause(clock, LIMITS.tmux_typed_look_ms)
  }
}

function isUnchanged(before: ReadScreen, now: ReadScreen): boolean {
  const same =
    before.reading.transcript === now.reading.transcript && before.reading.draft === now.reading.draft
  return same && before.look.pane_id === now.look.pane_id
}

/** Whether the text has left the composer, or is in the conversation while a dialog hides the composer. */
function hasLeftComposer(reading: Reading, text: string): boolean {
  const { draft } = reading
  return showsBell(reading, text) || (draft !== null && !draft.includes(withoutSpace(text)))
}

/** Returns a part of the doorbell that is certainly on one row: the end of the cursor's row. */
function visibleEnd({ look }: ReadScreen, text: string): string {
  const end = /[0-9a-z]+(?=\)$)/.exec(text)?.[0] ?? ''
  const row = look.lines[look.cursor_y] ?? ''
  return row.includes(end) ? end : end.slice(-1)
}
