/**
 * An agent without a window: one session that the shim begins itself and goes on with, and what is answered
 * when that session asks leave to do something. Nobody else would, and a turn that waits for a person is never
 * rung into.
 */
import type { Asked } from './protocol.ts'
import { isPersons } from './session-tracker.ts'
import type { OwnedServer, Place } from './server.ts'
import type { Permissions } from '../../src/contracts/config.ts'
import type { Log } from '../../src/ports/log.ts'

export interface HeadlessDeps {
  /** Where the agent works. */
  directory: string
  permissions: Permissions
  /** The session of an earlier shim. */
  kept: () => Place | null
  keep: (place: Place) => void
  /** A person sits there, to whom the session's questions are shown. */
  isJoined: () => boolean
  log: Log
}

export interface Headless {
  /** Goes on with the session, or begins one. */
  sessionOn(server: OwnedServer): Promise<Place>
  /**
   * Answers what the session or one of its subagents asks, unless a person has joined; what other sessions ask
   * stays open. Never rejects: what was answered meanwhile is refused, and that is well.
   */
  asked(asked: Asked, server: OwnedServer): Promise<void>
  /** The last person has left: answers what they left open. */
  allLeft(): Promise<void>
}

/** The agent reads it and goes on; without a word opencode would end its turn. */
const REJECTED = 'Nobody is here to permit this. Go on without it.'

export function headless(deps: HeadlessDeps): Headless {
  const { directory, permissions, kept, keep, isJoined, log } = deps
  /** Where the session was last gone on with. */
  let latest: OwnedServer | null = null

  async function isOurs(server: OwnedServer, sessionID: string): Promise<boolean> {
    const ours = kept()?.id
    for (let id: string | undefined = sessionID; id !== undefined;) {
      if (id === ours) return true
      const session = await server.session({ id, directory })
      id = session === null || isPersons(session) ? undefined : session.parentID
    }
    return false
  }

  async function answer({ type, properties }: Asked, server: OwnedServer): Promise<void> {
    if (isJoined() || !(await isOurs(server, properties.sessionID))) return
    const place = { id: properties.id, directory }
    if (type === 'question.asked') return server.rejectQuestion(place)
    await server.permit(
      place,
      permissions === 'allow' ? { reply: 'once' } : { reply: 'reject', message: REJECTED },
    )
  }

  async function asked(one: Asked, server: OwnedServer): Promise<void> {
    await answer(one, server).catch((error: unknown) => log.warn({ err: error }, 'it was not answered'))
  }

  async function answerOpen(server: OwnedServer): Promise<void> {
    for (const open of await server.open(directory)) await asked(open, server)
  }

  return {
    async sessionOn(server) {
      const before = kept()
      const goes_on = before?.directory === directory && (await server.session(before)) !== null
      const place = goes_on ? before : await server.begin(directory)
      keep(place)
      latest = server
      // What it asked while nobody listened.
      await answerOpen(server)
      return place
    },
    asked,
    async allLeft() {
      // A server that does not answer is connected to anew, and what is open is answered then.
      if (latest !== null)
        await answerOpen(latest).catch((error: unknown) =>
          log.debug({ err: error }, 'the server did not say what is open'),
        )
    },
  }
}
