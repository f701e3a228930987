/** Whether a client in a project suits the persona that it acts for there. */
import type { PersonaSettings } from '../../contracts/config.ts'
import type { ClientKind } from '../../contracts/ids.ts'
import { isOutsideOf } from '../outside-of.ts'

/** The persona's project, where the client works in another one. Below it is in it. */
export function otherProject(settings: PersonaSettings | undefined, project: string): string | null {
  const own = settings?.project
  return own !== undefined && isOutsideOf(own, project) ? own : null
}

/** The persona's surface where it is not this client. With `mcp` any client may attach. */
export function otherSurface(settings: PersonaSettings | undefined, client: ClientKind): string | null {
  if (settings === undefined) return null
  if (settings.acp !== undefined) return 'the Agent Client Protocol'
  if (settings.headless === true) return `a session of ${settings.surface} without a window`
  return settings.surface === client || settings.surface === 'mcp' ? null : settings.surface
}
