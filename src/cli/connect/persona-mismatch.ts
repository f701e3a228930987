/** Mismatches between a connected client and the settings of its persona. */
import type { PersonaSettings } from '../../contracts/config.ts'
import type { ClientKind } from '../../contracts/ids.ts'
import { isOutsideOf } from '../outside-of.ts'

/** Returns the persona's project if the client works outside it. A directory below the project is inside. */
export function otherProject(settings: PersonaSettings | undefined, project: string): string | null {
  const own = settings?.project
  return own !== undefined && isOutsideOf(own, project) ? own : null
}

/** Returns the persona's surface if it is not this client. With the surface `mcp`, any client may attach. */
export function otherSurface(settings: PersonaSettings | undefined, client: ClientKind): string | null {
  if (settings === undefined) return null
  if (settings.acp !== undefined) return 'the Agent Client Protocol'
  if (settings.headless === true) return `a session of ${settings.surface} without a window`
  return settings.surface === client || settings.surface === 'mcp' ? null : settings.surface
}
