/**
 * Keeps a subagent from its agent's signals. Over MCP opencode does not tell from which session a call
 * comes, but it asks its plugins before, and tells them of every session that begins.
 */
import type { Event } from '../protocol.ts'
import type { OpencodeServer } from '../server.ts'
import { isPersons } from '../session-tracker.ts'
import { asksForQueue } from '../../../src/contracts/drain.ts'
import { ERRORS } from '../../../src/contracts/error-catalogue.ts'
import { LIMITS } from '../../../src/contracts/limits.ts'
import type { Log } from '../../../src/ports/log.ts'

/** opencode puts the server's name before its tools'. */
const PREFIX = 'turnbell_'

export interface ComingCall {
  tool: string
  sessionID: string
}

export interface DrainGuard {
  told(event: Event): void
  /** Rejects with what the subagent is to read. A doubt lets the call pass: it may be the agent's own. */
  before(call: ComingCall & { args: unknown }): Promise<void>
  /** False for the session of a subagent. */
  isPersons: (session_id: string) => Promise<boolean>
}

export function drainGuard(of: { server: OpencodeServer; directory: string; log: Log }): DrainGuard {
  /** Whether they are a person's, by their ids; the oldest first. It is never another's afterwards. */
  const sessions = new Map<string, boolean>()

  function keep(id: string, persons: boolean): boolean {
    sessions.set(id, persons)
    for (const oldest of sessions.keys()) {
      if (sessions.size <= LIMITS.opencode_told_sessions_max) break
      sessions.delete(oldest)
    }
    return persons
  }

  /** A busy opencode may be too late with an answer or two. */
  async function asked(id: string): Promise<boolean> {
    for (let tries = 1; ; tries++) {
      try {
        const session = await of.server.session({ id, directory: of.directory })
        return session === null || keep(id, isPersons(session))
      } catch (error) {
        if (tries < LIMITS.opencode_guard_tries) continue
        of.log.warn({ err: error, session_id: id }, 'it is not known whose session drains')
        return true
      }
    }
  }

  const isOfPerson = async (id: string) => sessions.get(id) ?? (await asked(id))

  return {
    isPersons: isOfPerson,
    told(event) {
      if (event.type !== 'session.created' && event.type !== 'session.updated') return
      keep(event.properties.info.id, isPersons(event.properties.info))
    },
    async before({ tool, sessionID, args }) {
      if (!tool.startsWith(PREFIX) || !asksForQueue(tool.slice(PREFIX.length), args)) return
      if (await isOfPerson(sessionID)) return
      const { title, hint } = ERRORS.subagent_forbidden
      throw new Error(`${title}. ${hint}`)
    },
  }
}
