/**
 * The process of a supervised shim, from its first line to its last: attached to its daemon, gone with it, and
 * closed when it is told to. The part of the composition that these shims share.
 */
import { attachShim } from './shim.ts'
import { exitCodeOf } from '../src/contracts/exit-codes.ts'
import type { Log } from '../src/ports/log.ts'
import type { Surface, SurfaceHost } from '../src/ports/surface.ts'
import { systemClock } from '../src/system/clock.ts'
import { connectLocally } from '../src/system/local-socket.ts'
import { leaveWithParent } from '../src/system/parent.ts'
import { printProblem } from '../src/system/problem-output.ts'
import { shimPlace, type ShimPlace } from '../src/system/shim-place.ts'
import { TERMINATION_SIGNALS } from '../src/system/termination.ts'

export interface ShimParts {
  surface: Surface & { open(host: SurfaceHost): void; close(): void }
  /** Ends what goes with the shim, once the daemon hears no more of it. Not called where the daemon is gone. */
  stop?: () => void | Promise<void>
}

/** `name` is the shim's in the log. What `begin` throws is printed, and the process ends with its code. */
export function shimProcess(name: string, begin: (place: ShimPlace) => ShimParts): void {
  try {
    // First of all: what is begun below hands this process's environment on.
    const leaveIfOrphaned = leaveWithParent()
    const place = shimPlace(name)
    const { surface, stop } = begin(place)
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
        void stopped(stop, place.log).then(() => process.exit(0))
      })
    }
  } catch (error) {
    printProblem(error, false)
    process.exit(exitCodeOf(error))
  }
}

/** Never rejects: the process ends, whatever goes wrong in its last moment. */
export async function stopped(stop: ShimParts['stop'], log: Log): Promise<void> {
  try {
    await stop?.()
  } catch (error) {
    log.warn({ err: error }, 'not everything was ended')
  }
}
