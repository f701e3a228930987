/**
 * Adds the personas that the configuration declares when the hub starts, so that signals can be sent to them before an
 * agent or daemon joins.
 */
import type { Config } from '../contracts/config.ts'
import { TurnbellError } from '../contracts/errors/errors.ts'
import type { PersonaRegistry } from '../modules/registry/personas.ts'
import type { Log } from '../ports/log.ts'

/**
 * A wrapped persona stays wrapped; only a person restores it. A removed persona is added again, because removal also
 * deletes the entry: it was declared again while no hub was running. A failure is logged and does not stop the hub.
 */
export async function addConfiguredPersonas(
  personas: Pick<PersonaRegistry, 'add' | 'get'>,
  configured: Config['personas'],
  log: Log,
): Promise<void> {
  for (const [identity, { surface, project }] of Object.entries(configured)) {
    if (personas.get(identity)?.state === 'wrapped') continue
    try {
      await personas.add({ identity, surface, project })
    } catch (err) {
      if (!(err instanceof TurnbellError)) throw err
      log.warn({ err, identity }, 'configured persona not added')
    }
  }
}
