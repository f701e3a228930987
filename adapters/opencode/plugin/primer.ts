/**
 * Adds the primer to the system prompt of a person's sessions. It is requested once for a session, and again after a
 * compaction or a long pause: a system prompt that changed with every request would never be cached.
 */
import { HookAnswer, SESSION_START } from '../../../src/contracts/spool/hook.ts'
import { LIMITS } from '../../../src/contracts/limits/limits.ts'
import { PRIMER_LIMITS } from '../../../src/contracts/limits/primer.ts'
import type { Clock } from '../../../src/ports/clock.ts'
import type { Log } from '../../../src/ports/log.ts'

/** System prompts of opencode's internal requests. The hook does not receive the name of the agent. */
const INTERNAL_PROMPT = /^\s*You are (a title generator|a context summarization agent)/

export interface PrimerDeps {
  /** Sends a hook payload to the hub and returns the output of the hook. */
  report: (payload: object) => Promise<unknown>
  isUserSession: (session_id: string) => Promise<boolean>
  directory: string
  clock: Pick<Clock, 'monotonic'>
  log: Pick<Log, 'debug'>
}

export interface SessionPrimer {
  addTo(session_id: string | undefined, system: string[]): Promise<void>
  /** The session is about to be compacted. */
  compacting(session_id: string): void
}

interface Primer {
  text: string
  used_at: number
}

export function sessionPrimer({
  report,
  isUserSession: isPersons,
  directory,
  clock,
  log,
}: PrimerDeps): SessionPrimer {
  const primers = new Map<string, Primer>()
  const compacted = new Set<string>()
  let failed_at = -Infinity

  const request = async (session_id: string, source: string): Promise<string | null> => {
    if (clock.monotonic() - failed_at < PRIMER_LIMITS.primer_retry_ms) return null
    try {
      const payload = { hook_event_name: SESSION_START, session_id, source, cwd: directory }
      return HookAnswer.parse(await report(payload)).hookSpecificOutput?.additionalContext ?? null
    } catch (error) {
      failed_at = clock.monotonic()
      log.debug({ err: error }, 'primer not added: hub request failed')
      return null
    }
  }

  const textFor = async (session_id: string): Promise<string | null> => {
    const previous = primers.get(session_id)
    const now = clock.monotonic()
    const is_fresh = previous !== undefined && now - previous.used_at < PRIMER_LIMITS.primer_lifetime_ms
    if (is_fresh && !compacted.has(session_id)) {
      previous.used_at = now
      return previous.text
    }
    const source = compacted.has(session_id) ? 'compact' : previous === undefined ? 'startup' : 'resume'
    const text = (await request(session_id, source)) ?? previous?.text ?? null
    if (text === null) return null
    compacted.delete(session_id)
    primers.delete(session_id)
    primers.set(session_id, { text, used_at: now })
    const oldest = primers.keys().next().value
    if (primers.size > LIMITS.opencode_known_sessions_max && oldest !== undefined) primers.delete(oldest)
    return text
  }

  return {
    async addTo(session_id, system) {
      if (session_id === undefined || INTERNAL_PROMPT.test(system[0] ?? '')) return
      try {
        if (!(await isPersons(session_id))) return
        const text = await textFor(session_id)
        if (text !== null) system.push(text)
      } catch (error) {
        // A rejected hook would end the turn.
        log.debug({ err: error }, 'primer not added')
      }
    },
    compacting(session_id) {
      if (primers.has(session_id)) compacted.add(session_id)
    },
  }
}
