/**
 * The export `turnbell/surface`, for surfaces outside this package: attaches a surface to the persona's daemon with
 * one call. `describeSurface` from `turnbell/surface-suite` tests the promises of such a surface.
 */
import { attachShim, type Shim } from '../shim.ts'
import { TurnbellError } from '../../src/contracts/errors/errors.ts'
import { Identity } from '../../src/contracts/ids.ts'
import type { Surface } from '../../src/ports/surface.ts'
import { systemClock } from '../../src/system/clock.ts'
import { loadConfig } from '../../src/system/config/config.ts'
import { personaPaths, resolveHome } from '../../src/system/config/home.ts'
import { connectLocally } from '../../src/system/ipc/unix-socket.ts'
import { stderrLog } from '../../src/system/files/json-log.ts'

export type { Shim } from '../shim.ts'
export type { RingResult, SurfaceReport, SurfaceStatus, ReportAnswer } from '../../src/contracts/control.ts'
export type { Doorbell } from '../../src/contracts/doorbell.ts'
export type { Surface, SurfaceHost } from '../../src/ports/surface.ts'

/**
 * Attaches a surface to the daemon of a persona and redials while the process runs. `home` defaults to
 * TURNBELL_HOME, else `~/.turnbell`. Connection errors are logged to stderr.
 * @throws TurnbellError `config_invalid`
 */
export function serveSurface(surface: Surface, options: { persona: string; home?: string }): Shim {
  const home = resolveHome(process.env, options.home)
  const config = loadConfig(home.config, process.env)
  const identity = Identity.safeParse(options.persona)
  if (!identity.success) {
    throw new TurnbellError('config_invalid', {
      detail: `${JSON.stringify(options.persona)} is not a valid persona name`,
      hint: 'Use lower-case letters, digits and ._- after the first, 63 characters at most.',
    })
  }
  const { surface_socket } = personaPaths(home, config.tenant_id, identity.data, process.env)
  return attachShim({
    surface,
    dial: (handlers) => connectLocally(surface_socket, handlers),
    clock: systemClock,
    log: stderrLog(config.log.level, { name: 'surface', identity: identity.data }),
  })
}
