/**
 * A headless agent: chooses its session, and answers the permission requests and questions of that session and of
 * the session that a person started there and left. Otherwise a turn would wait for a person without end, and no
 * doorbell could ring.
 */
import type { UserRequest, PermissionReply } from './protocol.ts'
import { isUserSession } from './session-tracker.ts'
import { OpencodeError, type OwnedServer, type SessionRef } from './server.ts'
import { PERMISSION_DENIED_TEXT } from '../surface-results.ts'
import type { Permissions } from '../../src/contracts/config.ts'
import { LIMITS } from '../../src/contracts/limits/limits.ts'
import type { Clock, Timer } from '../../src/ports/clock.ts'
import type { Log } from '../../src/ports/log.ts'

/** First HTTP status of a server error: RFC 9110, section 15.6. */
const SERVER_ERROR = 500

export interface HeadlessDeps {
  /** Working directory of the agent. */
  directory: string
  permissions: Permissions
  /** Returns the session of an earlier shim. */
  storedSession: () => SessionRef | null
  storeSession: (session_ref: SessionRef) => void
  /** Returns the session that is rung: the kept one, or one that a person started while attached. */
  boundSession: () => SessionRef | null
  /** Whether a person is attached, to whom the session's requests are shown. */
  isJoined: () => boolean
  clock: Pick<Clock, 'after'>
  log: Log
}

export interface Headless {
  /** Resumes the kept session or creates one. Returns the session to ring: this one, or one that a person started. */
  chooseSession(server: OwnedServer): Promise<SessionRef>
  /**
   * Answers a request of the kept session, the bound session, or one of their subagents, unless a person is attached.
   * Requests of other sessions stay open. Never rejects: an answer to a request that a person has answered is ignored,
   * and after a server failure the open requests are read again later.
   */
  handleRequest(request: UserRequest, server: OwnedServer): Promise<void>
  /** Answers the open requests after the last person has left. */
  answerOpen(): Promise<void>
  close(): void
}

export function headless(deps: HeadlessDeps): Headless {
  const { directory, boundSession } = deps
  const kept_session = keptSession(deps)
  /** The server of the resumed session. */
  let latest_server: OwnedServer | null = null
  const requests = openRequests(deps, kept_session, () => latest_server)

  /** Returns the session that a person started, if it still exists. */
  async function personsSession(server: OwnedServer): Promise<SessionRef | null> {
    const before = boundSession()
    const exists = before !== null && (await server.session(before)) !== null
    // The person may have started another session, or deleted this one, during the call.
    const now = boundSession()
    return exists || now?.id !== before?.id ? now : null
  }

  return {
    async chooseSession(server) {
      latest_server = server
      const before = kept_session.get()
      const resumes = before?.directory === directory && (await server.session(before)) !== null
      const session_ref = resumes ? before : await server.createSession(directory)
      // Not stored if a later call has started.
      if (latest_server === server) kept_session.store(session_ref)
      // Requests that arrived while no shim was connected.
      await requests.answerAll(server)
      return (await personsSession(server)) ?? session_ref
    },
    handleRequest: requests.handle,
    answerOpen: requests.answerOpen,
    close: requests.close,
  }
}

interface KeptSession {
  /** Returns the resumed session, or the stored one before a resume. */
  get(): SessionRef | null
  store(session_ref: SessionRef): void
}

function keptSession({ storedSession, storeSession, log }: HeadlessDeps): KeptSession {
  /** The resumed session; kept here, because storing it may fail. */
  let own: SessionRef | null = null
  return {
    get: () => own ?? storedSession(),
    store(session_ref) {
      own = session_ref
      try {
        storeSession(session_ref)
      } catch (error) {
        log.warn({ err: error }, 'session could not be stored')
      }
    },
  }
}

/** Answers the requests to a person, and retries after temporary failures. `connected` returns the latest server. */
function openRequests(deps: HeadlessDeps, kept_session: KeptSession, connected: () => OwnedServer | null) {
  const { directory, boundSession, isJoined, clock, log } = deps
  const ownSessions = () => [kept_session.get(), boundSession()].filter((session_ref) => session_ref !== null)
  const answer = requestAnswerer(deps, ownSessions)
  let retry_timer: Timer | null = null
  let closed = false
  /** A failure was logged, and no request has succeeded after it. */
  let failure_logged = false

  async function handle(request: UserRequest, server: OwnedServer): Promise<void> {
    await withRetry('request could not be answered', async () => {
      if (await answer(request, server)) failure_logged = false
    })
  }

  async function answerAll(server: OwnedServer): Promise<void> {
    // A server has an instance per directory that lists only its own requests.
    const directories = new Set([directory, ...ownSessions().map((session_ref) => session_ref.directory)])
    for (const where of directories)
      await withRetry('open requests could not be read', async () => {
        for (const request of await server.openRequests(where)) await handle(request, server)
      })
    if (retry_timer === null) failure_logged = false
  }

  /** Does nothing without a connection: the open requests are answered after the next connect. */
  async function answerOpen(): Promise<void> {
    const server = connected()
    if (server !== null && !server.isGone() && !isJoined()) await answerAll(server)
  }

  /** Retries after a temporary failure. Otherwise the turn would wait for an answer without end. */
  async function withRetry(failure: string, attempt: () => Promise<void>): Promise<void> {
    try {
      await attempt()
    } catch (error) {
      const is_temporary = isTemporary(error)
      if (is_temporary) retryLater()
      // A repeated failure is logged once.
      log[is_temporary && failure_logged ? 'debug' : 'warn']({ err: error }, failure)
      failure_logged ||= is_temporary
    }
  }

  function retryLater(): void {
    if (closed) return
    retry_timer ??= clock.after(LIMITS.opencode_begin_ms, () => {
      retry_timer = null
      void answerOpen()
    })
  }

  function close(): void {
    closed = true
    retry_timer?.cancel()
  }
  return { handle, answerAll, answerOpen, close }
}

/**
 * Returns a function that answers a request of an own session or its descendant, unless a person is attached. It
 * resolves with whether the request was answered. @throws OpencodeError
 */
function requestAnswerer(
  { directory, permissions, isJoined }: HeadlessDeps,
  ownSessions: () => SessionRef[],
) {
  const reply: PermissionReply =
    permissions === 'allow' ? { reply: 'once' } : { reply: 'reject', message: PERMISSION_DENIED_TEXT }

  /** Returns the own session of which this session is a descendant, or which it is. */
  async function rootOf(server: OwnedServer, sessionID: string): Promise<SessionRef | null> {
    const seen = new Set<string>()
    for (let id: string | undefined = sessionID; id !== undefined && !seen.has(id);) {
      seen.add(id)
      const root = ownSessions().find((session_ref) => session_ref.id === id)
      if (root !== undefined) return root
      const session = await server.session({ id, directory })
      id = session === null || isUserSession(session) ? undefined : session.parentID
    }
    return null
  }

  return async ({ type, properties }: UserRequest, server: OwnedServer): Promise<boolean> => {
    if (isJoined()) return false
    const root = await rootOf(server, properties.sessionID)
    // A person may have joined during the call.
    if (root === null || isJoined()) return false
    const request = { id: properties.id, directory: root.directory }
    try {
      if (type === 'question.asked') await server.rejectQuestion(request)
      else await server.replyPermission(request, reply)
    } catch (error) {
      // 404: the request has been answered already.
      if (!(error instanceof OpencodeError) || error.status !== 404) throw error
    }
    return true
  }
}

/** Whether a later attempt may succeed: the server did not answer, or failed itself. */
function isTemporary(error: unknown): boolean {
  return error instanceof OpencodeError && (error.status === null || error.status >= SERVER_ERROR)
}
