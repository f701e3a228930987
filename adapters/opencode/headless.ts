/**
 * An agent without a window: one session that the shim begins itself and goes on with, and what is answered
 * when that session asks leave to do something. Nobody else would, and a turn that waits for a person is never
 * rung into.
 */
import type { Asked } from './protocol.ts'
import { isPersons } from './session-tracker.ts'
import type { OwnedServer, Place } from './server.ts'

export type Permissions = 'reject' | 'allow'

export interface HeadlessDeps {
  /** Where the agent works. */
  directory: string
  permissions: Permissions
  /** The session of an earlier shim. */
  kept: () => Place | null
  keep: (place: Place) => void
}

export interface Headless {
  /** Goes on with the session, or begins one. */
  sessionOn(server: OwnedServer): Promise<Place>
  /** Answers what the session or one of its subagents asks; what other sessions ask stays open. */
  asked(asked: Asked, server: OwnedServer): Promise<void>
}

/** The agent reads it and goes on; without a word opencode would end its turn. */
const REJECTED = 'Nobody is here to permit this. Go on without it.'

export function headless({ directory, permissions, kept, keep }: HeadlessDeps): Headless {
  async function isOurs(server: OwnedServer, sessionID: string): Promise<boolean> {
    const ours = kept()?.id
    for (let id: string | undefined = sessionID; id !== undefined;) {
      if (id === ours) return true
      const session = await server.session({ id, directory })
      id = session === null || isPersons(session) ? undefined : session.parentID
    }
    return false
  }

  async function asked({ type, properties }: Asked, server: OwnedServer): Promise<void> {
    if (!(await isOurs(server, properties.sessionID))) return
    const place = { id: properties.id, directory }
    if (type === 'question.asked') return server.rejectQuestion(place)
    await server.permit(
      place,
      permissions === 'allow' ? { reply: 'once' } : { reply: 'reject', message: REJECTED },
    )
  }

  return {
    async sessionOn(server) {
      const before = kept()
      const goes_on = before?.directory === directory && (await server.session(before)) !== null
      const place = goes_on ? before : await server.begin(directory)
      keep(place)
      // What it asked while nobody listened.
      for (const open of await server.open(directory)) await asked(open, server)
      return place
    },
    asked,
  }
}
