/** A Claude Code without a module. */
import type { ModLink } from '../../../adapters/claude-code/mod-link/mod-link.ts'

export const NO_MODULE: Pick<ModLink, 'attached' | 'absence' | 'ring' | 'underWay'> = {
  attached: () => null,
  underWay: () => null,
  absence: () => 'never attached',
  ring: () => Promise.resolve('gone'),
}
