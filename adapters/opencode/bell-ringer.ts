/** Rings the bound session with a prompt. */
import type { BellWatch } from './bell-watch.ts'
import type { AttachedSession } from './attached-session.ts'
import type { Session } from './protocol.ts'
import { OpencodeError, type OpencodeServer, type SessionRef } from './server.ts'
import { bellChoice, bellMetadata, bellRemoved, bellSent, turnPresumed, unbound } from './session-tracker.ts'
import { DEFERRED, FAILED, UNAVAILABLE } from '../surface-results.ts'
import type { RingResult } from '../../src/contracts/control.ts'
import type { Doorbell } from '../../src/contracts/doorbell.ts'
import type { Identity } from '../../src/contracts/ids.ts'
import type { Log } from '../../src/ports/log.ts'

export interface BellRingerDeps {
  identity: Identity
  session: AttachedSession
  watch: BellWatch
  /** Whether a person is present who may redo undone messages. */
  mayRedo: () => boolean
  log: Log
}

/** Returns a function that rings the session through the server. */
export function bellRinger({ identity, session, watch, mayRedo, log }: BellRingerDeps) {
  const { state, isCurrent, mayRing } = session

  /** Reads from the server whether the session is idle and what became of an outstanding doorbell. @throws OpencodeError */
  async function isIdleAt(to: OpencodeServer, session_ref: SessionRef): Promise<boolean> {
    // Queried directly before the ring, because an event may be late and a ring during a turn may be lost.
    const [found, busy] = await Promise.all([to.session(session_ref), to.isBusy(session_ref)])
    if (found === null) throw new OpencodeError(404, 'the session no longer exists')
    if (isCurrent(to, session_ref)) watch.noteBusy(busy)
    if (busy) {
      if (mayRing(to, session_ref)) session.move(turnPresumed(state()))
      return false
    }
    // A prompt after undone messages deletes them permanently.
    if (hasRevert(found) && mayRedo()) return false
    if (!mayRing(to, session_ref)) return false
    if (session.bell !== null) await watch.check(to, session_ref)
    return true
  }

  return async (
    to: OpencodeServer,
    session_ref: SessionRef,
    { doorbell_id, text }: Doorbell,
  ): Promise<RingResult> => {
    try {
      if (!mayRing(to, session_ref) || !(await isIdleAt(to, session_ref))) return DEFERRED
      if (session.bell !== null || !mayRing(to, session_ref)) return DEFERRED
      const metadata = bellMetadata(identity, doorbell_id)
      // Recorded before the call, because a server may accept the prompt and answer too late.
      session.move(bellSent(state(), doorbell_id))
      // Without an own messageID, because opencode never answers a message whose id sorts too low.
      await to.prompt(session_ref, { ...bellChoice(state()), parts: [{ type: 'text', text, metadata }] })
      return { accepted: true, proof: state().seen_doorbell_id === doorbell_id ? 'confirmed' : 'sent' }
    } catch (error) {
      log.warn({ err: error, session_id: session_ref.id }, 'doorbell could not be prompted')
      const status = error instanceof OpencodeError ? error.status : null
      if (status !== null) session.move(bellRemoved(state(), doorbell_id))
      if (session.server !== to) return UNAVAILABLE
      // Another session may be bound now.
      if (status === 404 && state().session?.id === session_ref.id) session.move(unbound(state()))
      return FAILED
    }
  }
}

/** Whether messages of the session were undone. opencode keeps them until the next prompt, so they can be redone. */
const hasRevert = ({ revert = null }: Session) => revert !== null
