/** What `persona add` says of an agent that its daemon keeps, without a window. */
import type { AcpSettings, PersonaSettings } from '../../contracts/config.ts'
import { TurnbellError } from '../../contracts/errors.ts'
import { ClientKind, type SurfaceKind } from '../../contracts/ids.ts'
import { commandWords } from './command-words.ts'

export interface KeptAgentOptions {
  /** As it was given: one line, or a word each time. */
  acp?: string[]
  headless?: boolean
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

/** Undefined where nothing was said of it. @throws `usage_invalid` */
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
  if (acp !== undefined)
    throw usage('--acp and --headless are two ways to keep an agent.', 'Leave one of them out.')
  return true
}

/** Somebody with a window is asked there. @throws `usage_invalid` */
export function requireKept(
  { acp, headless, surface }: KeptAgentOptions & { surface: SurfaceKind },
  before: PersonaSettings | undefined,
): void {
  const stays = before?.surface === surface ? before : undefined
  if (acp !== undefined || stays?.acp !== undefined || (headless ?? stays?.headless) === true) return
  throw usage(
    '--permissions says what an agent without a window is answered; this one has a window, and asks there.',
    'Add --headless or --acp, or leave it out.',
  )
}

const usage = (detail: string, hint: string) => new TurnbellError('usage_invalid', { detail, hint })
