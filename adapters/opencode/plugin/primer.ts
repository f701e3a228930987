/**
 * Adds the primer to the system prompt of a person's sessions. It is requested once for a session, and again after a
 * compaction or a long pause: a system prompt that changed with every request would never be cached.
 */
import { HookAnswer, SESSION_START } from '../../../src/contracts/hook.ts'
import { LIMITS } from '../../../src/contracts/limits.ts'
import { PRIMER_LIMITS } from '../../../src/contracts/primer-limits.ts'
import type { Clock } from '../../../src/ports/clock.ts'
import type { Log } from '../../../src/ports/log.ts'

/** What opencode uses a model for besides the conversation. The hook is not told which agent asks. */
const OWN_ENDS = /^\s*You are (a title generator|a context summarization agent)/

export interface PrimerNeeds {
  /** Sends a hook payload to the hub; the output of the hook. */
  report: (payload: object) => Promise<unknown>
  isPersons: (session_id: string) => Promise<boolean>
  directory: string
  clock: Pick<Clock, 'monotonic'>
  log: Pick<Log, 'debug'>
}

export interface SessionPrimer {
  addTo(session_id: string | undefined, system: string[]): Promise<void>
  /** The session is about to be compacted. */
  compacting(session_id: string): void
}

interface Kept {
  text: string
  used_at: number
}

export function sessionPrimer({ report, isPersons, directory, clock, log }: PrimerNeeds): SessionPrimer {
  const kept = new Map<string, Kept>()
  const compacted = new Set<string>()
  let failed_at = -Infinity

  const request = async (session_id: string, source: string): Promise<string | null> => {
    if (clock.monotonic() - failed_at < PRIMER_LIMITS.primer_retry_ms) return null
    try {
      const payload = { hook_event_name: SESSION_START, session_id, source, cwd: directory }
      return HookAnswer.parse(await report(payload)).hookSpecificOutput?.additionalContext ?? null
    } catch (error) {
      failed_at = clock.monotonic()
      log.debug({ err: error }, 'no primer: the hub did not answer')
      return null
    }
  }

  const textFor = async (session_id: string): Promise<string | null> => {
    const former = kept.get(session_id)
    const now = clock.monotonic()
    const is_fresh = former !== undefined && now - former.used_at < PRIMER_LIMITS.primer_kept_ms
    if (is_fresh && !compacted.has(session_id)) {
      former.used_at = now
      return former.text
    }
    const source = compacted.has(session_id) ? 'compact' : former === undefined ? 'startup' : 'resume'
    const text = (await request(session_id, source)) ?? former?.text ?? null
    if (text === null) return null
    compacted.delete(session_id)
    kept.delete(session_id)
    kept.set(session_id, { text, used_at: now })
    const oldest = kept.keys().next().value
    if (kept.size > LIMITS.opencode_told_sessions_max && oldest !== undefined) kept.delete(oldest)
    return text
  }

  return {
    async addTo(session_id, system) {
      if (session_id === undefined || OWN_ENDS.test(system[0] ?? '')) return
      try {
        if (!(await isPersons(session_id))) return
        const text = await textFor(session_id)
        if (text !== null) system.push(text)
      } catch (error) {
        // A rejected hook would end the turn.
        log.debug({ err: error }, 'no primer')
      }
    },
    compacting(session_id) {
      if (kept.has(session_id)) compacted.add(session_id)
    },
  }
}
