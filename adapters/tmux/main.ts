/**
 * The shim of the `tmux` surface, started and supervised by the persona's daemon: rings the client that a
 * person started in a pane. Which pane stands in config.yaml under personas.NAME.tmux.
 */
import path from 'node:path'
import { tmuxPane } from './pane.ts'
import { tmuxSurface } from './tmux-surface.ts'
import { shimProcess, type ShimParts } from '../shim-process.ts'
import { TurnbellError } from '../../src/contracts/errors.ts'
import { LIMITS } from '../../src/contracts/limits.ts'
import { askProgram } from '../../src/system/ask-program.ts'
import { systemClock } from '../../src/system/clock.ts'
import type { ShimPlace } from '../../src/system/shim-place.ts'

function begin({ home, identity, settings, log }: ShimPlace): ShimParts {
  if (settings?.tmux === undefined) {
    throw new TurnbellError('config_invalid', {
      detail: `${home.config} has no personas.${identity}.tmux`,
      hint: 'Name the pane there: `tmux: {pane: "%3"}`. In the pane itself, `echo $TMUX_PANE` tells it.',
    })
  }
  const { socket, ...where } = settings.tmux
  const pane = tmuxPane(
    { ...where, ...(socket === undefined ? {} : { socket: path.resolve(home.root, socket) }) },
    (program, args) => askProgram(program, args, LIMITS.tmux_answer_ms),
  )
  const surface = tmuxSurface({ pane, clock: systemClock, log })

  return { surface }
}

shimProcess('tmux-shim', begin)
