/** Options of `persona add` for a headless agent, which its daemon runs. */
import type { AcpSettings, PersonaSettings } from '../../contracts/config.ts'
import { TurnbellError } from '../../contracts/errors/errors.ts'
import { ClientKind, type SurfaceKind } from '../../contracts/ids.ts'
import { commandWords } from './command-words.ts'

export interface KeptAgentOptions {
  /** One line, or one word per option. */
  acp?: string[]
  headless?: boolean
  permissions?: NonNullable<PersonaSettings['permissions']>
}

const SURFACES: readonly SurfaceKind[] = ['claude-code', 'codex', 'opencode', 'command']

/** Returns undefined without the option. Throws `usage_invalid`. */
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
    throw usage('--acp and --command exclude each other.', 'Omit one of them.')
  }
  return { argv: commandWords(acp, '--acp') }
}

/** Returns undefined without the option. Throws `usage_invalid`. */
export function headlessSetting({
  headless,
  acp,
  surface,
}: KeptAgentOptions & { surface: SurfaceKind }): boolean | undefined {
  if (headless !== true) return headless
  if (!ClientKind.safeParse(surface).success) {
    throw usage(
      `--headless does not belong to the surface ${surface}.`,
      `Use one of ${ClientKind.options.join(', ')}.`,
    )
  }
  if (acp !== undefined) throw usage('--acp and --headless exclude each other.', 'Omit one of them.')
  return true
}

/** Throws `usage_invalid` for an agent with a window, which asks the person for permissions. */
export function requireKept(
  { acp, headless, surface }: KeptAgentOptions & { surface: SurfaceKind },
  before: PersonaSettings | undefined,
): void {
  const kept = before?.surface === surface ? before : undefined
  if (acp !== undefined || kept?.acp !== undefined || (headless ?? kept?.headless) === true) return
  throw usage(
    '--permissions is only for an agent without a window.',
    'Add --headless or --acp, or omit --permissions.',
  )
}

const usage = (detail: string, hint: string) => new TurnbellError('usage_invalid', { detail, hint })
