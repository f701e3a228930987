/**
 * The process of a shim that the daemon supervises: attaches to the daemon, ends with it, and closes on a
 * termination signal. The part of the composition that these shims share.
 */
import { attachShim } from './shim.ts'
import { exitCodeOf } from '../src/contracts/errors/exit-codes.ts'
import type { Log } from '../src/ports/log.ts'
import type { Surface, SurfaceHost } from '../src/ports/surface.ts'
import { systemClock } from '../src/system/clock.ts'
import { connectLocally } from '../src/system/ipc/unix-socket.ts'
import { leaveWithParent } from '../src/system/process/parent-watch.ts'
import { printProblem } from '../src/system/process/problem-output.ts'
import { shimEnvironment, type ShimEnvironment } from '../src/system/clients/shim-environment.ts'
import { TERMINATION_SIGNALS } from '../src/system/process/termination-signals.ts'

export interface ShimParts {
  surface: Surface & { open(host: SurfaceHost): void; close(): void }
  /** Stops what belongs to the shim, after the daemon connection was closed. Not called when the daemon is gone. */
  stop?: () => void | Promise<void>
}

/** Runs a shim. `name` is its name in the log. An error from `createParts` is printed and sets the exit code. */
export function runShim(name: string, createParts: (place: ShimEnvironment) => ShimParts): void {
  try {
    // Must be first, because the processes started below inherit the environment.
    const leaveIfOrphaned = leaveWithParent()
    const place = shimEnvironment(name)
    const { surface, stop } = createParts(place)
    const shim = attachShim({
      surface,
      dial: (handlers) => connectLocally(place.paths.surface_socket, handlers),
      clock: systemClock,
      log: place.log,
      onDetached: leaveIfOrphaned,
    })
    surface.open(shim)
    for (const os_signal of TERMINATION_SIGNALS) {
      process.once(os_signal, () => {
        surface.close()
        shim.close()
        void stopQuietly(stop, place.log).then(() => process.exit(0))
      })
    }
  } catch (error) {
    printProblem(error, false)
    process.exit(exitCodeOf(error))
  }
}

/** Runs `stop` and logs its error. Never rejects, because the process exits afterwards. */
export async function stopQuietly(stop: ShimParts['stop'], log: Log): Promise<void> {
  try {
    await stop?.()
  } catch (error) {
    log.warn({ err: error }, 'shim did not stop cleanly')
  }
}
