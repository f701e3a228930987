/** Applies a changed configuration file to the running hub, except for keys that need a restart. */
import type { Config } from '../contracts/config.ts'
import { applyExposure } from './exposure.ts'
import type { Hub } from './hub.ts'
import { routineSettingsOf, warnOfUnknownSteps } from './routines.ts'
import type { Log } from '../ports/log.ts'

/** If the file cannot be read, the previous configuration stays and routine results are marked as outdated. */
export function reloadConfig(
  { kernel, routines }: Pick<Hub, 'kernel' | 'routines'>,
  read: () => Config,
  log: Log,
): void {
  let config: Config
  try {
    config = read()
  } catch (err) {
    log.warn({ err }, 'changed configuration not readable; keeping the previous one')
    routines.outdated(true)
    return
  }
  routines.outdated(false)
  applyExposure(kernel, config, log)
  const before = JSON.stringify(routines.settings())
  const settings = routineSettingsOf(config)
  if (JSON.stringify(settings) === before) return
  routines.configure(settings)
  log.info(
    { sandbox: settings.sandbox, routines: Object.keys(settings.routines) },
    'routines, commands or sandbox policy changed by the configuration',
  )
  warnOfUnknownSteps(routines, log)
}
