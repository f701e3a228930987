/** Where the module finds the worker of its session. */
import { modulePointer } from '../../../src/contracts/clients/module-pointer.ts'
import { sessionPersona } from '../../../src/contracts/clients/session-persona.ts'

/** Variables of the client's environment; an empty one counts as missing. */
export interface PlaceVariables extends Record<string, string | undefined> {
  HOME?: string | undefined
  TURNBELL_PERSONA?: string | undefined
  TURNBELL_HOME?: string | undefined
  TURNBELL_CONNECTED_PERSONA?: string | undefined
  TURNBELL_CONNECTED_HOME?: string | undefined
}

/** Returns the file that contains the path of the worker's socket; null if the session has no persona. */
export function pointerFile(variables: PlaceVariables, client_pid: string | undefined): string | null {
  const { persona, home } = sessionPersona(variables)
  if (persona === undefined || client_pid === undefined) return null
  const chosen = home || variables.TURNBELL_HOME || `${variables.HOME ?? ''}/.turnbell`
  return modulePointer(chosen, client_pid)
}

/** Returns the path of the socket; null if the content is incomplete. */
export function socketIn(content: string): string | null {
  return /^(\/[^\n]*)\n$/.exec(content)?.[1] ?? null
}
