/**
 * One ring: pasted, read back, and only then entered. A person may type at any moment in between; then
 * Enter is never pressed, and what stands there stays for the person to sort out.
 */
import { squeezed } from './cells.ts'
import { bellEntered, bellPressed, looked, type TrackedPane } from './pane-tracker.ts'
import type { Look, Pane } from './pane.ts'
import { showsBell, type Reading } from './screen.ts'
import { DEFERRED, FAILED, UNAVAILABLE } from '../surface-words.ts'
import type { RingResult } from '../../src/contracts/control.ts'
import type { Doorbell } from '../../src/contracts/doorbell.ts'
import { LIMITS } from '../../src/contracts/limits.ts'
import type { Clock } from '../../src/ports/clock.ts'
import type { Log } from '../../src/ports/log.ts'
import { pause } from '../../src/ports/pause.ts'

/** One look, and what it says. */
export interface Seen {
  look: Look
  reading: Reading
}

/** What the surface knows of the pane. */
export interface Tracked {
  state(): TrackedPane
  move(next: TrackedPane): void
  /** Null where no known client holds the pane. */
  glance(): Promise<Seen | null>
  /** A glance that the turn is judged by. `afresh` asks again whose the pane is. */
  see(afresh?: boolean): Promise<Seen | null>
  /** The look that is being taken has been taken. */
  settled(): Promise<void>
}

export interface Ringer {
  /** What stands in the composer is a bell that was pasted and never entered, and nothing else. */
  isOurs(reading: Reading): boolean
  /** One at a time. Throws what the pane throws. */
  ring(doorbell: Doorbell): Promise<RingResult>
}

export function paneRinger(deps: { pane: Pane; tracked: Tracked; clock: Clock; log: Log }): Ringer {
  const { pane, tracked, clock, log } = deps
  const isOurs = (reading: Reading) => bellIn(reading) !== null

  const pass = (ms: number) => pause(clock, ms)

  /** The prompt, seen twice and unchanged in between. Clients change their hints all the time, so for a while. */
  async function standingPrompt(): Promise<Seen | null> {
    const deadline = clock.monotonic() + LIMITS.tmux_prompt_ms
    let before = await tracked.see(true)
    for (;;) {
      if (before === null || tracked.state().turn !== 'idle') return null
      await pass(LIMITS.tmux_settle_ms)
      const now = await tracked.see()
      if (now === null || tracked.state().turn !== 'idle') return null
      if (isUnchanged(before, now)) return now
      if (clock.monotonic() >= deadline) return null
      before = now
    }
  }

  /** Looks until it holds, for a while. The last look is told either way. */
  async function until(holds: (reading: Reading) => boolean): Promise<{ held: boolean; seen: Seen | null }> {
    const deadline = clock.monotonic() + LIMITS.tmux_typed_ms
    for (;;) {
      // Half a bell on its way in or out is no draft of anybody, so the turn is not judged by it.
      const seen = await tracked.glance()
      const held = seen !== null && holds(seen.reading)
      if (held || seen === null || clock.monotonic() >= deadline) return { held, seen }
      await pass(LIMITS.tmux_typed_look_ms)
    }
  }

  async function ring({ doorbell_id, text: asked }: Doorbell): Promise<RingResult> {
    // A daemon that has given this ring up may send the next; on a slow machine it must not be entered late.
    const latest = clock.monotonic() + LIMITS.tmux_enter_by_ms
    await tracked.settled()
    const prompt = await standingPrompt()
    if (prompt === null) return tracked.state().client_there ? DEFERRED : UNAVAILABLE
    // What an earlier ring left says that signals wait, which is still true, and is better than two bells.
    const stands = bellIn(prompt.reading)
    const text = stands ?? asked
    if (clock.monotonic() > latest - LIMITS.tmux_typed_ms) return DEFERRED
    if (stands === null && !(await pane.paste(text, prompt.look))) return DEFERRED
    const typed = await until(({ state, draft }) => state === 'draft' && draft === squeezed(text))
    if (!typed.held || typed.seen === null) {
      log.warn({ doorbell_id, found: typed.seen?.reading.state }, 'something else stands there; not entered')
      return FAILED
    }
    if (clock.monotonic() > latest) return DEFERRED
    if (!(await pane.enter(typed.seen.look, lastWord(typed.seen, text)))) {
      log.warn({ doorbell_id }, 'the screen changed before Enter; not entered')
      return DEFERRED
    }
    const sent = await until((reading) => hasLeft(reading, text))
    const now = clock.monotonic()
    if (!sent.held || sent.seen === null) {
      // opencode makes a session first. Enter again would be a second message, so only a receipt or its lack tells.
      log.warn({ doorbell_id, found: sent.seen?.reading.state }, 'entered, and it still stands there')
      tracked.move(bellPressed(tracked.state(), { doorbell_id, text }, now))
      return { accepted: true, proof: 'sent' }
    }
    tracked.move(looked(bellEntered(tracked.state(), { doorbell_id, text }, now), sent.seen.reading, now))
    return { accepted: true, proof: tracked.state().seen_doorbell_id === doorbell_id ? 'confirmed' : 'sent' }
  }

  return { isOurs, ring }
}

/** A whole bell without its white space, as `doorbellText` words it. */
const BELL =
  /^(\[turnbell\](?:1signalwaits|\d+signalswait)\(from[\w.:/-]+\)\.Callsignals_pendingonce\.)\(bell([0-9a-z]+)\)$/

/**
 * The bell that stands in the composer. It is known by its form and not from memory: a shim that was started anew
 * would take what the one before left there for a person's draft, and never ring again.
 */
function bellIn({ draft }: Reading): string | null {
  const [, words, id] = BELL.exec(draft ?? '') ?? []
  return words === undefined ? null : `${words}(bell ${id})`
}

function isUnchanged(before: Seen, now: Seen): boolean {
  const same =
    before.reading.transcript === now.reading.transcript && before.reading.draft === now.reading.draft
  return same && before.look.pane_id === now.look.pane_id
}

/** It stands in the composer no more, or in the conversation already, with a dialog in the composer's place. */
function hasLeft(reading: Reading, text: string): boolean {
  const { draft } = reading
  return showsBell(reading, text) || (draft !== null && !draft.includes(squeezed(text)))
}

/** Something of the bell that surely stands in one piece: the end of the row where the cursor is. */
function lastWord({ look }: Seen, text: string): string {
  const end = /[0-9a-z]+(?=\)$)/.exec(text)?.[0] ?? ''
  const row = look.lines[look.cursor_y] ?? ''
  return row.includes(end) ? end : end.slice(-1)
}
