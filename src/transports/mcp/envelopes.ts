/** What clients say of themselves with every request, remembered so that it is judged once. */
import { CLIENT_CAPABILITIES_META_KEY, CLIENT_INFO_META_KEY } from '@modelcontextprotocol/server'

/** So many envelopes of so much text are remembered. */
export const ENVELOPES_MAX = 256
export const ENVELOPE_CHARS_MAX = 4_096

/** Those that the SDK has accepted. */
export interface Envelopes {
  /** `judge` asks the SDK, where this was never said before. */
  accepts(meta: Record<string, unknown> | undefined, judge: () => boolean): boolean
}

export function createEnvelopes(): Envelopes {
  const accepted = new Set<string>()
  return {
    accepts(meta, judge) {
      const key = JSON.stringify([meta?.[CLIENT_INFO_META_KEY], meta?.[CLIENT_CAPABILITIES_META_KEY]])
      if (accepted.has(key)) return true
      if (!judge()) return false
      // A new client is judged at every call once there are this many: it is served none the less.
      if (accepted.size < ENVELOPES_MAX && key.length <= ENVELOPE_CHARS_MAX) accepted.add(key)
      return true
    },
  }
}
