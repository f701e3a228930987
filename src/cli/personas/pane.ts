/** Options of `persona add --surface tmux`: the pane and its server. */
import type { PersonaSettings, TmuxSettings } from '../../contracts/config.ts'
import { TurnbellError } from '../../contracts/errors/errors.ts'
import type { SurfaceKind } from '../../contracts/ids.ts'
import type { Cli } from '../cli.ts'
import { placeFrom } from '../scope.ts'

/** A pane by its number, or by session, window and pane. */
const ONE_PANE = /^(?:%\d+|[^:]+:.+\.\d+)$/

export interface PaneOptions {
  surface: SurfaceKind
  pane?: string
  tmuxClient?: NonNullable<TmuxSettings['client']>
  tmuxSocket?: string
}

/** The settings that are written to the file. */
export type PaneSettings = {
  pane: string
  client?: NonNullable<TmuxSettings['client']>
  socket?: string
}

/** Returns only the given options. Throws `usage_invalid`. */
export function paneSettings(
  cli: Pick<Cli, 'cwd'>,
  { surface, pane, tmuxClient: client, tmuxSocket: socket }: PaneOptions,
  before: PersonaSettings | undefined,
): PaneSettings | undefined {
  const is_given = pane !== undefined || client !== undefined || socket !== undefined
  if (surface !== 'tmux') {
    if (!is_given) return undefined
    throw new TurnbellError('usage_invalid', {
      detail: `--pane, --tmux-client and --tmux-socket belong to the surface tmux, not to ${surface}.`,
      hint: 'Use --surface tmux, or omit them.',
    })
  }
  const known = pane ?? before?.tmux?.pane
  if (known === undefined || known === '') {
    throw new TurnbellError('usage_invalid', {
      detail: 'The surface tmux requires --pane, the pane of the client.',
      hint: 'Run `echo $TMUX_PANE` or `tmux display-message -p "#{pane_id}"` in that pane to print it, such as %3.',
    })
  }
  if (!is_given) return undefined
  if (pane !== undefined && !ONE_PANE.test(pane)) {
    throw new TurnbellError('usage_invalid', {
      detail: `--pane ${pane} does not name one fixed pane: tmux would use the active one.`,
      hint: 'Name it as SESSION:WINDOW.PANE, such as work:0.1, or by its number, such as %3, which `echo $TMUX_PANE` prints there.',
    })
  }
  return {
    pane: known,
    ...(client === undefined ? {} : { client }),
    ...(socket === undefined ? {} : { socket: placeFrom(cli, socket) }),
  }
}
