/** `persona add --surface tmux`: which pane, and on which server. */
import type { PersonaSettings, TmuxSettings } from '../../contracts/config.ts'
import { TurnbellError } from '../../contracts/errors.ts'
import type { SurfaceKind } from '../../contracts/ids.ts'
import type { Cli } from '../cli.ts'
import { placeFrom } from '../scope.ts'

/** By its number, or by its place with all three parts. */
const ONE_PANE = /^(?:%\d+|[^:]+:.+\.\d+)$/

export interface PaneOptions {
  surface: SurfaceKind
  pane?: string
  tmuxClient?: NonNullable<TmuxSettings['client']>
  tmuxSocket?: string
}

/** What goes into the file. */
export type SaidPane = {
  pane: string
  client?: NonNullable<TmuxSettings['client']>
  socket?: string
}

/** Only what was said. @throws `usage_invalid` */
export function paneSettings(
  cli: Pick<Cli, 'cwd'>,
  { surface, pane, tmuxClient: client, tmuxSocket: socket }: PaneOptions,
  before: PersonaSettings | undefined,
): SaidPane | undefined {
  const said = pane !== undefined || client !== undefined || socket !== undefined
  if (surface !== 'tmux') {
    if (!said) return undefined
    throw new TurnbellError('usage_invalid', {
      detail: `--pane, --tmux-client and --tmux-socket belong to the surface tmux, not to ${surface}.`,
      hint: 'Use --surface tmux, or leave them out.',
    })
  }
  const known = pane ?? before?.tmux?.pane
  if (known === undefined || known === '') {
    throw new TurnbellError('usage_invalid', {
      detail: 'The surface tmux needs --pane: the pane in which the client runs.',
      hint: 'In that pane, `echo $TMUX_PANE` or `tmux display-message -p "#{pane_id}"` tells it, such as %3.',
    })
  }
  if (!said) return undefined
  if (pane !== undefined && !ONE_PANE.test(pane)) {
    throw new TurnbellError('usage_invalid', {
      detail: `--pane ${pane} names no pane of its own: whichever is in front there would be meant.`,
      hint: 'Name it as SESSION:WINDOW.PANE, such as work:0.1, or by its number, such as %3: `echo $TMUX_PANE` tells it there.',
    })
  }
  return {
    pane: known,
    ...(client === undefined ? {} : { client }),
    ...(socket === undefined ? {} : { socket: placeFrom(cli, socket) }),
  }
}
