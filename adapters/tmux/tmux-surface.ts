/**
 * A client in a tmux pane as a surface: reads its turns off the screen, and rings by typing. The last
 * resort: whatever is not certainly an empty prompt is left alone. Whether a bell is due is the daemon's
 * decision.
 *
 * A ring is pasted, read back, and only then entered. A person may type at any moment in between; then
 * Enter is never pressed, and what stands there stays for the person to sort out.
 */
import { PaneGone, type Look, type Pane } from './pane.ts'
import { adrift, bellEntered, bellPressed, looked, startTracking, type TrackedPane } from './pane-tracker.ts'
import { readScreen, showsBell, type Reading, type TmuxClient } from './screen.ts'
import { squeezed } from './cells.ts'
import type { RingResult, SurfaceStatus } from '../../src/contracts/control.ts'
import type { Doorbell } from '../../src/contracts/doorbell.ts'
import { LIMITS } from '../../src/contracts/limits.ts'
import type { Clock, Timer } from '../../src/ports/clock.ts'
import type { Log } from '../../src/ports/log.ts'
import type { Surface, SurfaceHost } from '../../src/ports/surface.ts'

const DEFERRED: RingResult = { accepted: false, proof: 'deferred' }
const UNAVAILABLE: RingResult = { accepted: false, proof: 'unavailable' }
const FAILED: RingResult = { accepted: false, proof: 'failed' }
/** One line that means nothing to any composer: no command, no shell, no file. */
const TYPEABLE = /^\[[\x20-\x7e]+\)$/

export interface TmuxSurface extends Surface {
  /** Begins to look. */
  open(host: SurfaceHost): void
  close(): void
}

/** One look, and what it says. */
interface Seen {
  look: Look
  reading: Reading
}

export function tmuxSurface(deps: { pane: Pane; clock: Clock; log: Log }): TmuxSurface {
  const { pane, clock, log } = deps
  let state = startTracking(clock.now())
  let host: SurfaceHost | null = null
  let looking: Timer | null = null
  let ringing = false
  let closed = false
  /** The look that is being taken: one after the other, or an older one would count as news. */
  let underway = Promise.resolve()
  /** Whose pane it is, as long as its program is the same. */
  let known: { program: string; client: TmuxClient } | null = null
  /** Why nobody can be rung, so that it is told once. */
  let absent: string | null = null
  /** A bell that was pasted and could not be entered. It may still stand in the composer. */
  let left: string | null = null

  const status = (): SurfaceStatus => ({
    surface: 'tmux',
    // The screen does not name the client's session. Without a name every drain counts as the rung agent's.
    session_id: null,
    delivery: 'push',
    turn: state.turn,
    turn_seq: state.turn_seq,
    ...(state.seen_doorbell_id === null ? {} : { seen_doorbell_id: state.seen_doorbell_id }),
  })

  function move(next: TrackedPane): void {
    const before = state
    state = next
    if (tellsMore(before, next)) void host?.report(status())
  }

  const isOurs = ({ draft }: Reading) => left !== null && draft === squeezed(left)

  /** Null where no known client holds the pane. Asks again whose it is where the program is another one. */
  async function glance(afresh = false): Promise<Seen | null> {
    const look = await pane.look()
    const program = `${look.pane_id} ${look.pane_pid} ${look.command}`
    if (afresh || known?.program !== program) {
      const client = await pane.client(look)
      known = client === null ? null : { program, client }
      if (client !== null) log.info({ client, pane: look.pane_id }, 'found the client in its pane')
    }
    if (known === null) {
      lost(`${look.command} is no client that is known here`)
      return null
    }
    absent = null
    return { look, reading: readScreen(known.client, look) }
  }

  function lost(why: string): void {
    if (why !== absent) log.warn({}, `nobody to ring: ${why}`)
    absent = why
    known = null
    move(adrift(state))
  }

  /** A glance that the turn is judged by. */
  async function see(afresh = false): Promise<Seen | null> {
    const seen = await glance(afresh)
    if (seen !== null) move(looked(state, seen.reading, clock.monotonic(), isOurs(seen.reading)))
    return seen
  }

  async function keepUp(): Promise<void> {
    try {
      await see()
    } catch (error) {
      broke(error)
      log.debug({ err: error }, 'tmux did not show the pane')
    }
  }

  /** What is not seen may be a turn. */
  function broke(error: unknown): void {
    if (error instanceof PaneGone) lost(error.message)
    else move(adrift(state))
  }

  function lookAgain(): void {
    if (closed) return
    const quiet = state.turn === 'idle' || state.last === null
    looking = clock.after(quiet ? LIMITS.tmux_quiet_look_ms : LIMITS.tmux_look_ms, () => {
      if (ringing) return lookAgain()
      underway = keepUp()
      void underway.then(lookAgain)
    })
  }

  const pass = (ms: number) => new Promise<void>((resolve) => void clock.after(ms, resolve))

  /** The prompt, seen twice and unchanged in between. Clients change their hints all the time, so for a while. */
  async function standingPrompt(): Promise<Seen | null> {
    const deadline = clock.monotonic() + LIMITS.tmux_prompt_ms
    let before = await see(true)
    for (;;) {
      if (before === null || state.turn !== 'idle') return null
      await pass(LIMITS.tmux_settle_ms)
      const now = await see()
      if (now === null || state.turn !== 'idle') return null
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
      const seen = await glance()
      const held = seen !== null && holds(seen.reading)
      if (held || seen === null || clock.monotonic() >= deadline) return { held, seen }
      await pass(LIMITS.tmux_typed_look_ms)
    }
  }

  async function ring({ doorbell_id, text: asked }: Doorbell): Promise<RingResult> {
    // A daemon that has given this ring up may send the next; on a slow machine it must not be entered late.
    const latest = clock.monotonic() + LIMITS.tmux_enter_by_ms
    await underway
    const prompt = await standingPrompt()
    if (prompt === null) return absent === null ? DEFERRED : UNAVAILABLE
    // What an earlier ring left says that signals wait, which is still true, and is better than two bells.
    const stands = isOurs(prompt.reading)
    const text = stands ? (left as string) : asked
    if (clock.monotonic() > latest - LIMITS.tmux_typed_ms) return DEFERRED
    if (!stands) {
      // Known as ours before tmux has answered: it may type, and its answer come too late.
      left = text
      if (!(await pane.paste(text, prompt.look))) {
        left = null
        return DEFERRED
      }
    }
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
      move(bellPressed(state, { doorbell_id, text }, now))
      return { accepted: true, proof: 'sent' }
    }
    left = null
    move(looked(bellEntered(state, { doorbell_id, text }, now), sent.seen.reading, now))
    return { accepted: true, proof: state.seen_doorbell_id === doorbell_id ? 'confirmed' : 'sent' }
  }

  return {
    status: async () => status(),

    async notify_surface(doorbell): Promise<RingResult> {
      if (ringing) return DEFERRED
      if (!TYPEABLE.test(doorbell.text)) {
        log.error({ doorbell_id: doorbell.doorbell_id }, 'the doorbell is not one line of plain characters')
        return FAILED
      }
      ringing = true
      try {
        return await ring(doorbell)
      } catch (error) {
        log.warn({ err: error, doorbell_id: doorbell.doorbell_id }, 'the pane could not be rung')
        broke(error)
        return error instanceof PaneGone ? UNAVAILABLE : FAILED
      } finally {
        ringing = false
      }
    },

    async resume_surface() {
      if (!ringing) await keepUp()
      void host?.report(status())
    },

    open(daemon) {
      host = daemon
      underway = keepUp()
      void underway.then(lookAgain)
    },

    close() {
      closed = true
      looking?.cancel()
      host = null
    },
  }
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

function tellsMore(before: TrackedPane, after: TrackedPane): boolean {
  return (
    before.turn !== after.turn ||
    before.turn_seq !== after.turn_seq ||
    before.seen_doorbell_id !== after.seen_doorbell_id
  )
}
