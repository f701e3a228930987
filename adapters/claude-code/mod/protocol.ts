/**
 * Version of the protocol that `messages.ts` describes. Increased by a change that an older module or worker would
 * misunderstand. A worker ignores events of kinds that it does not have.
 */
export const PROTOCOL = 1
