/** Paths that lead where a test says. */
import type { Places } from '../../src/ports/places.ts'

/** No links at all. */
export const AS_WRITTEN: Places = { real: (given) => given }
