/** One call of a hook: the persona, the client's payload, and the delivery of the event to the hub or the spool. */
import { OWN_SERVER_PERSONA } from '../../contracts/clients/codex.ts'
import { Identity, type Json } from '../../contracts/ids.ts'
import { isDeeper } from '../../contracts/validation/json.ts'
import { LIMITS } from '../../contracts/limits/limits.ts'

/** Two less than the limit, because a spooled line nests the payload and the payload nests the value. */
const VALUE_DEPTH_MAX = LIMITS.json_depth_max - 2

/**
 * Returns the persona of the hook's client. Returns null if the client acts for no persona, or if `turnbell run` started
 * it for another persona than the project is connected to.
 */
export function hookPersona(named: string | undefined, env: NodeJS.ProcessEnv): Identity | null {
  const identity = Identity.safeParse(named ?? env['TURNBELL_PERSONA'])
  if (!identity.success) return null
  // An invalid name in this variable is ignored.
  const owner = Identity.safeParse(env[OWN_SERVER_PERSONA])
  return owner.success && owner.data !== identity.data ? null : identity.data
}

/** Parses the client's payload, without values that are nested too deep to be parsed again. Throws for invalid JSON. */
export function hookPayload(text: string): Record<string, Json> {
  const value: unknown = JSON.parse(text === '' ? '{}' : text)
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return {}
  const payload = value as Record<string, Json>
  return Object.fromEntries(Object.entries(payload).filter(([, inner]) => !isDeeper(inner, VALUE_DEPTH_MAX)))
}

/** One hook event. It is sent to the hub or spooled, and never both, because it would count twice. */
export interface HookDelivery {
  /** Marks the event as being sent. Throws if it was spooled. */
  sending: () => void
  /** Spools an event that the hub did not receive. A second call does nothing. */
  spool: () => Promise<void>
  /** Spools the event unless it is being sent, because the hub may have received it then. */
  spoolUnlessSent: () => Promise<void>
}

export function hookDelivery(append: () => void): HookDelivery {
  let state: 'pending' | 'sending' | 'spooled' = 'pending'
  const spool = async () => {
    if (state === 'spooled') return
    state = 'spooled'
    append()
  }
  return {
    sending() {
      if (state === 'spooled') throw new Error('the event was spooled')
      state = 'sending'
    },
    spool,
    spoolUnlessSent: async () => {
      if (state === 'pending') await spool()
    },
  }
}
