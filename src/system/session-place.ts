/** Whom a client's session acts for, and in which home. The plugin's `waiter.sh` says the same for a shell. */

export interface SessionPlace {
  /** As it was said; undefined where the session acts for nobody. */
  persona: string | undefined
  /** What `resolveHome` takes as its flag. */
  home: string | undefined
}

/**
 * Whoever starts a session for a persona wins over the persona that its project is connected to. The
 * connected home belongs to the connected persona alone: the other may not even be known there.
 */
export function sessionPlace(
  env: NodeJS.ProcessEnv,
  said: { persona?: string; home?: string } = {},
): SessionPlace {
  const named = (name: string) => (env[name] === '' ? undefined : env[name])
  const started = said.persona ?? named('TURNBELL_PERSONA')
  if (started !== undefined) return { persona: started, home: said.home }
  return {
    persona: named('TURNBELL_CONNECTED_PERSONA'),
    home: said.home ?? named('TURNBELL_CONNECTED_HOME'),
  }
}
