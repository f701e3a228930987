/** What `persona add` says of an agent that its daemon keeps, without a window. */
import type { AcpSettings, PersonaSettings } from '../../contracts/config.ts'
import { TurnbellError } from '../../contracts/errors.ts'
import type { SurfaceKind } from '../../contracts/ids.ts'
import { commandWords } from './command-words.ts'

export interface KeptAgentOptions {
  /** As it was given: one line, or a word each time. */
  acp?: string[]
  permissions?: NonNullable<PersonaSettings['permissions']>
}

const SURFACES: readonly SurfaceKind[] = ['claude-code', 'codex', 'opencode', 'command']

/** Undefined where nothing was said of it. Throws `usage_invalid`. */
export function acpSettings({
  acp,
  surface,
  command,
}: KeptAgentOptions & { surface: SurfaceKind; command?: string[] }): AcpSettings | undefined {
  if (acp === undefined) return undefined
  if (!SURFACES.includes(surface)) {
    throw usage(`--acp does not belong to the surface ${surface}.`, `Use one of ${SURFACES.join(', ')}.`)
  }
  if (command !== undefined) {
    throw usage(
      '--acp keeps the agent by itself, so there is nothing for --command.',
      'Leave one of them out.',
    )
  }
  return { argv: commandWords(acp, '--acp') }
}

const usage = (detail: string, hint: string) => new TurnbellError('usage_invalid', { detail, hint })
