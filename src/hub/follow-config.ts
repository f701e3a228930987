/** Takes in the configuration whenever it has changed: what of it counts at once, counts from then on. */
import type { Config } from '../contracts/config.ts'
import { exposeAnew } from './exposure.ts'
import type { Hub } from './hub.ts'
import { routineSettingsOf, warnOfUnknownSteps } from './routines.ts'
import type { Log } from '../ports/log.ts'

/** One that cannot be read changes nothing but that answers which come from the one before say so. */
export function takeInAnew(
  { kernel, routines }: Pick<Hub, 'kernel' | 'routines'>,
  read: () => Config,
  log: Log,
): void {
  let config: Config
  try {
    config = read()
  } catch (err) {
    log.warn({ err }, 'the configuration was changed and cannot be read; what it said before stays')
    routines.outdated(true)
    return
  }
  routines.outdated(false)
  exposeAnew(kernel, config, log)
  const before = JSON.stringify(routines.settings())
  const settings = routineSettingsOf(config)
  if (JSON.stringify(settings) === before) return
  routines.configure(settings)
  log.info(
    { leash: settings.leash, routines: Object.keys(settings.routines) },
    'the configuration has other routines, commands or another leash now',
  )
  warnOfUnknownSteps(routines, log)
}
