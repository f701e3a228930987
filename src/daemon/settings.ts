/** Settings of one daemon, from its command line and the configuration. */
import { parseArgs } from 'node:util'
import type { Config, PersonaSettings } from '../contracts/config.ts'
import { TurnbellError } from '../contracts/errors/errors.ts'
import { Identity, RESERVED_IDENTITIES, SurfaceKind } from '../contracts/ids.ts'
import type { PacerRules } from './history.ts'

export interface Flags {
  persona?: string | undefined
  hub?: string | undefined
  surface?: string | undefined
  home?: string | undefined
  'token-file'?: string | undefined
  json?: boolean | undefined
  help?: boolean | undefined
}

export const USAGE = `turnbell daemon --persona NAME [--hub URL] [--surface KIND] [--token-file FILE] [--home DIR] [--json]

Runs one persona's daemon in the foreground. The surface is that of personas.NAME in config.yaml if
--surface is not given.
`

/** @throws `usage_invalid`. */
export function readFlags(argv: readonly string[]): Flags {
  const text = { type: 'string' } as const
  const flag = { type: 'boolean' } as const
  const options = {
    persona: text,
    hub: text,
    surface: text,
    home: text,
    'token-file': text,
    json: flag,
    help: flag,
  }
  try {
    return parseArgs({ args: [...argv], options, allowPositionals: false }).values
  } catch (cause) {
    const detail = cause instanceof Error ? cause.message : String(cause)
    throw new TurnbellError('usage_invalid', { detail, cause })
  }
}

export interface Settings {
  identity: string
  surface: SurfaceKind
  rules: PacerRules
  /** Path of the shim's program below `adapters/`; null if the shim attaches by itself. */
  shim: string | null
}

/** @throws `config_invalid` if the persona or its surface is not known. */
export function settingsFrom(flags: Flags, config: Config): Settings {
  const identity = identityFrom(flags)
  const declared = config.personas[identity]
  const surface = surfaceFrom(flags, declared?.surface, identity)
  const shim = shimOf(surface, declared?.surface === surface ? declared : undefined)
  if (surface === 'tmux' && shim === null) {
    throw new TurnbellError('config_invalid', {
      detail: `--surface tmux: config.yaml has no pane for the client of ${identity}`,
      hint: `Run turnbell persona add ${identity} --surface tmux --pane PANE.`,
    })
  }
  const { reconnect_ring, reconnect_grace_ms, reconnect_patience_ms, bell_receipt_ms, redoorbell_max } =
    config.daemon
  // The command shim observes the start and end of a program, but not whether an agent read the doorbell.
  const receipts = shim !== COMMAND_SHIM
  // A command never has a window, so it counts as headless without the setting.
  const headless = isHeadless(surface, declared)
  const rules = {
    reconnect_ring,
    reconnect_grace_ms,
    reconnect_patience_ms,
    bell_receipt_ms,
    redoorbell_max,
    receipts,
    headless,
  }
  return { identity, surface, shim, rules }
}

function isHeadless(surface: SurfaceKind, declared: PersonaSettings | undefined): boolean {
  return surface === 'command' || declared?.headless === true || declared?.acp !== undefined
}

const COMMAND_SHIM = 'command/shim.js'

function shimOf(surface: SurfaceKind, declared: PersonaSettings | undefined): string | null {
  if (declared?.acp !== undefined) return 'acp/shim.js'
  switch (surface) {
    case 'codex':
    case 'opencode':
      return `${surface}/shim.js`
    case 'claude-code':
      return declared?.headless === true ? 'claude-code/headless.js' : null
    case 'command':
      return declared?.command === undefined ? null : COMMAND_SHIM
    case 'tmux':
      return declared?.tmux === undefined ? null : 'tmux/shim.js'
    case 'mcp':
      return null
  }
}

function identityFrom({ persona }: Flags): string {
  if (persona === undefined) {
    throw new TurnbellError('config_invalid', {
      detail: '--persona is missing',
      hint: 'Run turnbell daemon --persona NAME.',
    })
  }
  const identity = Identity.safeParse(persona)
  if (!identity.success || (RESERVED_IDENTITIES as readonly string[]).includes(persona)) {
    const found = JSON.stringify(persona)
    const why = identity.success
      ? 'is a reserved name'
      : (identity.error.issues[0]?.message ?? 'is not a valid identity')
    throw new TurnbellError('config_invalid', { detail: `--persona: ${found}: ${why}` })
  }
  return identity.data
}

function surfaceFrom(flags: Flags, declared: SurfaceKind | undefined, identity: string): SurfaceKind {
  if (flags.surface === undefined && declared !== undefined) return declared
  const kinds = SurfaceKind.options.join(', ')
  if (flags.surface === undefined) {
    throw new TurnbellError('config_invalid', {
      detail: `config.yaml has no personas.${identity}, and --surface is not given`,
      hint: `Run turnbell persona add ${identity} --surface KIND, or pass --surface with one of ${kinds}.`,
    })
  }
  const surface = SurfaceKind.safeParse(flags.surface)
  if (surface.success) return surface.data
  throw new TurnbellError('config_invalid', {
    detail: `--surface: found ${JSON.stringify(flags.surface)}, expected one of ${kinds}`,
  })
}
