/**
 * An agent without a window: one session that the shim begins itself and goes on with, and what is answered
 * when it asks leave to do something, or the session that a person began there and left does. Nobody else would,
 * and a turn that waits for a person is never rung into.
 */
import type { Asked, PermissionReply } from './protocol.ts'
import { isPersons } from './session-tracker.ts'
import { OpencodeError, type OwnedServer, type Place } from './server.ts'
import { NOBODY_PERMITS } from '../surface-words.ts'
import type { Permissions } from '../../src/contracts/config.ts'
import { LIMITS } from '../../src/contracts/limits.ts'
import type { Clock, Timer } from '../../src/ports/clock.ts'
import type { Log } from '../../src/ports/log.ts'

/** From here on HTTP's statuses are the server's own failures: RFC 9110, section 15.6. */
const SERVER_ERROR = 500

export interface HeadlessDeps {
  /** Where the agent works. */
  directory: string
  permissions: Permissions
  /** The session of an earlier shim. */
  kept: () => Place | null
  keep: (place: Place) => void
  /** The session that is rung: the kept one, or another that a person began while they were there. */
  bound: () => Place | null
  /** A person sits there, to whom the session's questions are shown. */
  isJoined: () => boolean
  clock: Pick<Clock, 'after'>
  log: Log
}

export interface Headless {
  /** Goes on with the kept session, or begins one. Answers the one to ring: it, or another that a person began. */
  sessionOn(server: OwnedServer): Promise<Place>
  /**
   * Answers what the kept session, the one that is rung, or a subagent of theirs asks, unless a person has
   * joined; what other sessions ask stays open. Never rejects: what was answered meanwhile is
   * refused, and that is well; a server that could take no answer is asked a while later what is still open.
   */
  asked(asked: Asked, server: OwnedServer): Promise<void>
  /** The last person has left: answers what they left open. */
  allLeft(): Promise<void>
  close(): void
}

export function headless(deps: HeadlessDeps): Headless {
  const { directory, permissions, bound, isJoined, clock, log } = deps
  /** The session that is gone on with: known here even where it could not be written down. */
  let own: Place | null = null
  const kept = () => own ?? deps.kept()
  /** Where the session is gone on with. */
  let latest: OwnedServer | null = null
  let again: Timer | null = null
  let closed = false
  /** What went wrong was told, and has not gone well since. */
  let troubled = false

  const reply: PermissionReply =
    permissions === 'allow' ? { reply: 'once' } : { reply: 'reject', message: NOBODY_PERMITS }
  const ours = () => [kept(), bound()].filter((place) => place !== null)
  /** A server has an instance for each directory, and each knows only what was asked in it. */
  const directories = () => new Set([directory, ...ours().map((place) => place.directory)])

  function keep(place: Place): void {
    own = place
    try {
      deps.keep(place)
    } catch (error) {
      log.warn({ err: error }, 'which session is gone on with was not written down')
    }
  }

  /** The session that a person began, where it is still there. */
  async function personsSession(server: OwnedServer): Promise<Place | null> {
    const asked = bound()
    const is_there = asked !== null && (await server.session(asked)) !== null
    // While the server was asked they may have begun another, or deleted it.
    const now = bound()
    return is_there || now?.id !== asked?.id ? now : null
  }

  /** The one of our sessions for which this one works, or which it is. */
  async function rootOf(server: OwnedServer, sessionID: string): Promise<Place | null> {
    const seen = new Set<string>()
    for (let id: string | undefined = sessionID; id !== undefined && !seen.has(id);) {
      seen.add(id)
      const root = ours().find((place) => place.id === id)
      if (root !== undefined) return root
      const session = await server.session({ id, directory })
      id = session === null || isPersons(session) ? undefined : session.parentID
    }
    return null
  }

  async function answer({ type, properties }: Asked, server: OwnedServer): Promise<void> {
    if (isJoined()) return
    const root = await rootOf(server, properties.sessionID)
    // Somebody may have joined while the server was asked.
    if (root === null || isJoined()) return
    const place = { id: properties.id, directory: root.directory }
    try {
      if (type === 'question.asked') await server.rejectQuestion(place)
      else await server.permit(place, reply)
    } catch (error) {
      // Somebody else has answered it.
      if (!(error instanceof OpencodeError) || error.status !== 404) throw error
    }
    troubled = false
  }

  async function asked(one: Asked, server: OwnedServer): Promise<void> {
    await tried('it was not answered', () => answer(one, server))
  }

  async function answerOpen(server: OwnedServer): Promise<void> {
    for (const where of directories())
      await tried('the server did not say what is open', async () => {
        for (const open of await server.open(where)) await asked(open, server)
      })
    if (again === null) troubled = false
  }

  /** A server that is gone is connected to anew, and what is open is answered then. */
  async function answerLeft(): Promise<void> {
    if (latest !== null && !latest.isGone() && !isJoined()) await answerOpen(latest)
  }

  /** A turn that waits for an answer waits for ever, so what the server did not take is tried again. */
  async function tried(failure: string, attempt: () => Promise<void>): Promise<void> {
    try {
      await attempt()
    } catch (error) {
      const passes = mayPass(error)
      if (passes) later()
      // One line is enough.
      log[passes && troubled ? 'debug' : 'warn']({ err: error }, failure)
      troubled ||= passes
    }
  }

  function later(): void {
    if (closed) return
    again ??= clock.after(LIMITS.opencode_begin_ms, () => {
      again = null
      void answerLeft()
    })
  }

  return {
    async sessionOn(server) {
      latest = server
      const before = kept()
      const goes_on = before?.directory === directory && (await server.session(before)) !== null
      const place = goes_on ? before : await server.begin(directory)
      // A call that was overtaken says nothing about where it goes on.
      if (latest === server) keep(place)
      // What it asked while nobody listened.
      await answerOpen(server)
      return (await personsSession(server)) ?? place
    },
    asked,
    allLeft: answerLeft,
    close() {
      closed = true
      again?.cancel()
    },
  }
}

/** Whether the server may take a while later what it did not now: it was silent, or failed itself. */
function mayPass(error: unknown): boolean {
  return error instanceof OpencodeError && (error.status === null || error.status >= SERVER_ERROR)
}
