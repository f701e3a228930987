/** What every call of a hook needs, whether it goes the quick way or the long one. */
import { OWN_SERVER_PERSONA } from '../../contracts/codex-environment.ts'
import { IDENTITY_FORM } from '../../contracts/identity-form.ts'
import type { Identity, Json } from '../../contracts/ids.ts'
import { isDeeper } from '../../contracts/json.ts'
import { LIMITS } from '../../contracts/limits.ts'

/** Time to start, to write the answer and to end before the client's patience does. */
const ANSWER_MARGIN_MS = 600
export const HOOK_PATIENCE_MS = LIMITS.hook_timeout_ms - ANSWER_MARGIN_MS

/** A value stands in the payload, and that in a line of the spool. */
const VALUE_DEPTH_MAX = LIMITS.json_depth_max - 2

/**
 * For whom a hook tells. Null for a client that acts for nobody, and for one that `turnbell run` started for
 * another persona than the project is connected to: its thread is none of the project's persona's.
 */
export function hookPersona(named: string | undefined, env: NodeJS.ProcessEnv): Identity | null {
  const identity = named ?? env['TURNBELL_PERSONA'] ?? ''
  if (!IDENTITY_FORM.test(identity)) return null
  // A variable that names nobody says nothing.
  const owner = env[OWN_SERVER_PERSONA] ?? ''
  return IDENTITY_FORM.test(owner) && owner !== identity ? null : identity
}

/** What the client says of it, without what nobody could read again. Throws for what is no JSON. */
export function hookPayload(text: string): Record<string, Json> {
  const value: unknown = JSON.parse(text === '' ? '{}' : text)
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return {}
  const payload = value as Record<string, Json>
  return Object.fromEntries(Object.entries(payload).filter(([, inner]) => !isDeeper(inner, VALUE_DEPTH_MAX)))
}

/** One event, which is told to the hub or left in the spool, and never both: it would count twice. */
export interface Untold {
  /** From now on it is being told. Throws where it was left. */
  telling: () => void
  /** Nobody has heard it. Unless it was left before. */
  leave: () => Promise<void>
  /** The same where that is not known: unless it is being told. */
  leaveIfUntold: () => Promise<void>
}

export function untold(left: () => void | Promise<void>): Untold {
  let state: 'waits' | 'is being told' | 'left' = 'waits'
  const leave = async () => {
    if (state === 'left') return
    state = 'left'
    await left()
  }
  return {
    telling() {
      if (state === 'left') throw new Error('it was left in the spool')
      state = 'is being told'
    },
    leave,
    leaveIfUntold: async () => {
      if (state === 'waits') await leave()
    },
  }
}
