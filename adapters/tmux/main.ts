/**
 * The shim of the `tmux` surface, started and supervised by the persona's daemon: rings the client that a
 * person started in a pane. Which pane stands in config.yaml under personas.NAME.tmux.
 */
import path from 'node:path'
import { tmuxPane } from './pane.ts'
import { tmuxSurface } from './tmux-surface.ts'
import { attachShim } from '../shim.ts'
import { TurnbellError } from '../../src/contracts/errors.ts'
import { exitCodeOf } from '../../src/contracts/exit-codes.ts'
import { LIMITS } from '../../src/contracts/limits.ts'
import { askProgram } from '../../src/system/ask-program.ts'
import { systemClock } from '../../src/system/clock.ts'
import { connectLocally } from '../../src/system/local-socket.ts'
import { leaveWithParent } from '../../src/system/parent.ts'
import { printProblem } from '../../src/system/problem-output.ts'
import { shimPlace } from '../../src/system/shim-place.ts'

function main(): void {
  const { home, identity, settings, paths, log } = shimPlace('tmux-shim')
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
  const leaveIfOrphaned = leaveWithParent()
  const shim = attachShim({
    surface,
    dial: (handlers) => connectLocally(paths.surface_socket, handlers),
    clock: systemClock,
    log,
    onDetached: leaveIfOrphaned,
  })
  surface.open(shim)

  for (const os_signal of ['SIGTERM', 'SIGINT'] as const) {
    process.once(os_signal, () => {
      surface.close()
      shim.close()
      process.exit(0)
    })
  }
}

try {
  main()
} catch (error) {
  printProblem(error, false)
  process.exit(exitCodeOf(error))
}
