/**
 * What people, models and tools wrote, for the worker's record of the agent's work. A long text is sent as its beginning, with
 * the size and the digest of the whole.
 */
import { digest } from './sha256.ts'
import type { CapturedText } from '../../../src/contracts/activity/event.ts'
import { CLAUDE_MODULE_LIMITS as LIMITS } from '../../../src/contracts/limits/claude-module.ts'

/** Returns the content for the worker; undefined if it wants none. */
export type MakeContent = (make: () => unknown) => CapturedText | undefined

/** Returns undefined if there is no text, or one that would take too long to digest. Never throws. */
export function contentOf(make: () => unknown): CapturedText | undefined {
  try {
    const text = make()
    if (typeof text !== 'string' || text.length > LIMITS.mod_digested_length_max) return undefined
    if (text.length <= LIMITS.mod_content_length_max) return text
    const beginning = text.slice(0, LIMITS.mod_content_length_max).replace(/[\uD800-\uDBFF]$/, '')
    return { text: beginning, ...digest(text) }
  } catch {
    // A tool's input is the client's own object and may not be JSON.
    return undefined
  }
}
