import { LIMITS } from './limits.ts'

/** A persona's name. Also a metric label and a directory name, hence the narrow alphabet. */
export const IDENTITY_FORM = new RegExp(`^[a-z0-9][a-z0-9._-]{0,${LIMITS.identity_length_max - 1}}$`)
