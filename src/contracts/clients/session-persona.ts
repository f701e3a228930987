/** Persona and home of a client's session. The plugin's `waiter.sh` implements the same for a shell. */

export interface SessionPersona {
  /** Undefined if the session has no persona. */
  persona: string | undefined
  /** Flag for `resolveHome`. */
  home: string | undefined
}

/**
 * The persona of the process that started the session takes precedence over the one connected to its project. The
 * connected home is used only with the connected persona, because others may not exist there.
 */
export function sessionPersona(
  env: Readonly<Record<string, string | undefined>>,
  given: { persona?: string; home?: string } = {},
): SessionPersona {
  const named = (name: string) => (env[name] === '' ? undefined : env[name])
  const started = given.persona ?? named('TURNBELL_PERSONA')
  if (started !== undefined) return { persona: started, home: given.home }
  return {
    persona: named('TURNBELL_CONNECTED_PERSONA'),
    home: given.home ?? named('TURNBELL_CONNECTED_HOME'),
  }
}
