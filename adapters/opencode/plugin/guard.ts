/**
 * Prevents subagents from draining the main agent's signals. Over MCP opencode does not send the session of a call, but
 * it calls its plugins before a tool and reports every new session to them.
 */
import type { Event } from '../protocol.ts'
import type { OpencodeServer } from '../server.ts'
import { isUserSession } from '../session-tracker.ts'
import { isQueueCall } from '../../../src/contracts/drain-calls.ts'
import { ERRORS } from '../../../src/contracts/errors/error-catalogue.ts'
import { LIMITS } from '../../../src/contracts/limits/limits.ts'
import type { Log } from '../../../src/ports/log.ts'

/** opencode's prefix for the tools of the MCP server. */
const PREFIX = 'turnbell_'

export interface ToolCall {
  tool: string
  sessionID: string
}

export interface DrainGuard {
  handleEvent(event: Event): void
  /** Rejects a subagent's drain with a text for it. An unknown session passes, because it may be the main agent's. */
  before(call: ToolCall & { args: unknown }): Promise<void>
  /** Returns false for the session of a subagent. */
  isUserSession: (session_id: string) => Promise<boolean>
}

export function drainGuard(of: { server: OpencodeServer; directory: string; log: Log }): DrainGuard {
  /** Whether each session is a person's, by id, oldest first. It never changes for a session. */
  const sessions = new Map<string, boolean>()

  function remember(id: string, persons: boolean): boolean {
    sessions.set(id, persons)
    for (const oldest of sessions.keys()) {
      if (sessions.size <= LIMITS.opencode_known_sessions_max) break
      sessions.delete(oldest)
    }
    return persons
  }

  /** Retries, because a busy opencode may time out. */
  async function readSession(id: string): Promise<boolean> {
    for (let tries = 1; ; tries++) {
      try {
        const session = await of.server.session({ id, directory: of.directory })
        return session === null || remember(id, isUserSession(session))
      } catch (error) {
        if (tries < LIMITS.opencode_guard_tries) continue
        of.log.warn({ err: error, session_id: id }, 'session of a drain could not be read; drain allowed')
        return true
      }
    }
  }

  const isOfUser = async (id: string) => sessions.get(id) ?? (await readSession(id))

  return {
    isUserSession: isOfUser,
    handleEvent(event) {
      if (event.type !== 'session.created' && event.type !== 'session.updated') return
      remember(event.properties.info.id, isUserSession(event.properties.info))
    },
    async before({ tool, sessionID, args }) {
      if (!tool.startsWith(PREFIX) || !isQueueCall(tool.slice(PREFIX.length), args)) return
      if (await isOfUser(sessionID)) return
      const { title, hint } = ERRORS.subagent_forbidden
      throw new Error(`${title}. ${hint}`)
    },
  }
}
