/**
 * Personas that the configuration of this machine declares exist from the hub's start on: they may be
 * sent to before anybody has joined for them.
 */
import type { Config } from '../contracts/config.ts'
import { TurnbellError } from '../contracts/errors.ts'
import type { PersonaRegistry } from '../modules/registry/personas.ts'
import type { Log } from '../ports/log.ts'

/**
 * A wrapped one stays wrapped: only a person brings it back. A removed one that stands there again was
 * added while no hub ran, because removing it took its entry out. One that cannot be taken in is
 * reported, never fatal.
 */
export async function takeInConfigured(
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
      log.warn({ err, identity }, 'a configured persona could not be taken in')
    }
  }
}
