/**
 * Whose own app-server a Codex runs in. Not TURNBELL_PERSONA: the app-server that every plain `codex` shares has
 * that of whoever happened to start it.
 */
export const OWN_SERVER_PERSONA = 'TURNBELL_CODEX_PERSONA'
