/** Binds the surface to a session, as read from the server. */
import type { AttachedSession } from './attached-session.ts'
import type { OpencodeServer, SessionRef } from './server.ts'
import { messagesRead, sessionRead } from './session-tracker.ts'
import type { TurnQuery } from './turn-query.ts'
import type { Identity } from '../../src/contracts/ids.ts'
import { LIMITS } from '../../src/contracts/limits/limits.ts'
import type { Clock, Timer } from '../../src/ports/clock.ts'
import type { Log } from '../../src/ports/log.ts'

export interface SessionBinder {
  /** Reads a session and binds it. `overtaken`: a later attempt has started. @throws OpencodeError */
  bind(server: OpencodeServer, session_ref: SessionRef): Promise<BindOutcome>
  /** Binds a session that a person joined, once the turn of the bound one is known. Never rejects: it retries. */
  join(session_ref: SessionRef): Promise<void>
  /** Returns the session that was joined before the turn of the bound one was known. */
  pendingJoin(): SessionRef | null
  /** Like `join`, without waiting for the turn of the bound session. */
  joinNow(session_ref: SessionRef): Promise<void>
  /** Cancels the retries, and forgets the session that waits to be joined. */
  cancel(): void
}

type BindOutcome = 'found' | 'gone' | 'overtaken'

export interface SessionBinderDeps {
  identity: Identity
  session: AttachedSession
  turns: TurnQuery
  store: (session_ref: SessionRef | null) => void
  clock: Pick<Clock, 'after' | 'now'>
  log: Log
}

export function sessionBinder(deps: SessionBinderDeps): SessionBinder {
  const { session, clock, log } = deps
  /** Number of binding attempts; only the last one takes effect. */
  let attempts = 0
  let pending_join: SessionRef | null = null
  let join_timer: Timer | null = null

  async function bind(
    to: OpencodeServer,
    session_ref: SessionRef,
    attempt = (attempts += 1),
  ): Promise<BindOutcome> {
    const before = session.state().session?.id
    const read = await readSession(to, session_ref, session)
    if (session.server !== to || attempt !== attempts) return 'overtaken'
    const state = session.state()
    // A session that was bound by an event during the calls is newer.
    if (state.session !== null && state.session.id !== before) return 'found'
    const deleted = state.session === null && before === session_ref.id
    if (read === null || deleted) return 'gone'
    const { queried_state, messages, ...reading } = read
    const next = sessionRead(state, reading, queried_state, clock.now())
    session.move(messages === 'unread' ? next : messagesRead(next, messages, deps.identity))
    // The end of that turn may precede the first event.
    if (reading.busy) deps.turns.queryLater()
    return 'found'
  }

  async function joinNow(session_ref: SessionRef): Promise<void> {
    const to = session.server
    pending_join = null
    const before = session.state().session?.id
    // Counted even if the session is bound already, to cancel an attempt for another one.
    const attempt = (attempts += 1)
    if (to === null || session_ref.id === before) return
    try {
      // Stored, because the bridge has to know the session that is rung.
      if ((await bind(to, session_ref, attempt)) === 'gone') deps.store(session.state().session)
    } catch (error) {
      log.debug({ err: error, session_id: session_ref.id }, 'joined session could not be read')
      if (session.server !== to || attempt !== attempts) return
      join_timer = clock.after(LIMITS.opencode_begin_ms, () => {
        if (session.state().session?.id === before) void joinNow(session_ref)
      })
    }
  }

  return {
    bind: (to, session_ref) => bind(to, session_ref),
    async join(session_ref) {
      join_timer?.cancel()
      if (session.server === null) return
      if (session.ready) await joinNow(session_ref)
      else pending_join = session_ref
    },
    pendingJoin: () => pending_join,
    joinNow,
    cancel() {
      join_timer?.cancel()
      pending_join = null
    },
  }
}

/** Reads a session, its newest messages and its turn. Returns null if it does not exist. */
async function readSession(to: OpencodeServer, session_ref: SessionRef, { state }: AttachedSession) {
  const session = await to.session(session_ref)
  if (session === null) return null
  const messages = await to
    .messages(session_ref, LIMITS.opencode_bell_messages_max)
    .catch(() => 'unread' as const)
  const newest_message = messages === 'unread' ? messages : (messages.at(-1)?.info ?? null)
  const queried_state = state()
  const busy = await to.isBusy(session_ref)
  return { session, messages, newest_message, queried_state, busy }
}
