/**
 * For a surface that lives outside this package, as `turnbell/surface`: its shim attaches to the persona's
 * daemon with one call. Its promises are checked by `describeSurface` from `turnbell/surface-suite`.
 */
import { attachShim, type Shim } from '../shim.ts'
import { TurnbellError } from '../../src/contracts/errors.ts'
import { Identity } from '../../src/contracts/ids.ts'
import type { Surface } from '../../src/ports/surface.ts'
import { systemClock } from '../../src/system/clock.ts'
import { loadConfig } from '../../src/system/config.ts'
import { personaPaths, resolveHome } from '../../src/system/home.ts'
import { connectLocally } from '../../src/system/local-socket.ts'
import { stderrLog } from '../../src/system/stderr-log.ts'

export type { Shim } from '../shim.ts'
export type { RingResult, SurfaceReport, SurfaceStatus, ReportAnswer } from '../../src/contracts/control.ts'
export type { Doorbell } from '../../src/contracts/doorbell.ts'
export type { Surface, SurfaceHost } from '../../src/ports/surface.ts'

/**
 * Attaches a surface to the daemon of a persona, dialling for as long as the process lives. `home` is
 * TURNBELL_HOME, else `~/.turnbell`. What goes wrong on the way is said on stderr.
 * @throws TurnbellError `config_invalid`
 */
export function serveSurface(surface: Surface, options: { persona: string; home?: string }): Shim {
  const home = resolveHome(process.env, options.home)
  const config = loadConfig(home.config, process.env)
  const identity = Identity.safeParse(options.persona)
  if (!identity.success) {
    throw new TurnbellError('config_invalid', {
      detail: `${JSON.stringify(options.persona)} is no persona's name`,
      hint: 'Small letters, digits and ._- after the first, 63 at most.',
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
