/** Memoizes the validation of the client info that every request contains. */
import { CLIENT_CAPABILITIES_META_KEY, CLIENT_INFO_META_KEY } from '@modelcontextprotocol/server'

/** Maximum number of memoized envelopes, and their maximum length. */
export const ENVELOPES_MAX = 256
export const ENVELOPE_CHARS_MAX = 4_096

export interface Envelopes {
  /** `validate` is called unless the same envelope was accepted before. */
  accepts(meta: Record<string, unknown> | undefined, validate: () => boolean): boolean
}

export function createEnvelopes(): Envelopes {
  const accepted = new Set<string>()
  return {
    accepts(meta, validate) {
      const key = JSON.stringify([meta?.[CLIENT_INFO_META_KEY], meta?.[CLIENT_CAPABILITIES_META_KEY]])
      if (accepted.has(key)) return true
      if (!validate()) return false
      // Beyond the limit, a new client is validated at every call.
      if (accepted.size < ENVELOPES_MAX && key.length <= ENVELOPE_CHARS_MAX) accepted.add(key)
      return true
    },
  }
}
