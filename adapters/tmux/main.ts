/**
 * The shim of the `tmux` surface, started and supervised by the persona's daemon: rings the client that a person
 * started in a pane. The pane is set in config.yaml under personas.NAME.tmux.
 */
import path from 'node:path'
import { tmuxPane } from './pane.ts'
import { tmuxSurface } from './tmux-surface.ts'
import { runShim, type ShimParts } from '../shim-process.ts'
import { TurnbellError } from '../../src/contracts/errors/errors.ts'
import { LIMITS } from '../../src/contracts/limits/limits.ts'
import { runCommand } from '../../src/system/process/run-command.ts'
import { systemClock } from '../../src/system/clock.ts'
import type { ShimEnvironment } from '../../src/system/clients/shim-environment.ts'

function createParts({ home, identity, settings, log }: ShimEnvironment): ShimParts {
  if (settings?.tmux === undefined) {
    throw new TurnbellError('config_invalid', {
      detail: `${home.config} has no personas.${identity}.tmux`,
      hint: 'Name the pane there: `tmux: {pane: "%3"}`. Run `echo $TMUX_PANE` in the pane to get its number.',
    })
  }
  const { socket, ...where } = settings.tmux
  const pane = tmuxPane(
    { ...where, ...(socket === undefined ? {} : { socket: path.resolve(home.root, socket) }) },
    (program, args) => runCommand(program, args, LIMITS.tmux_answer_ms),
  )
  const surface = tmuxSurface({ pane, clock: systemClock, log })

  return { surface }
}

runShim('tmux-shim', createParts)
