/** Whether a client in a project suits the persona that it acts for there. */
import fs from 'node:fs'
import path from 'node:path'
import type { PersonaSettings } from '../../contracts/config.ts'
import type { ClientKind } from '../../contracts/ids.ts'

/** The persona's project, where the client works in another one. Below it is in it. */
export function otherProject(settings: PersonaSettings | undefined, project: string): string | null {
  if (settings?.project === undefined) return null
  const own = realPath(settings.project)
  const below = path.relative(own, realPath(project))
  const is_outside = below === '..' || below.startsWith(`..${path.sep}`) || path.isAbsolute(below)
  return is_outside ? settings.project : null
}

/** The persona's surface where it is not this client. With `mcp` any client may attach. */
export function otherSurface(settings: PersonaSettings | undefined, client: ClientKind): string | null {
  if (settings === undefined) return null
  if (settings.acp !== undefined) return 'the Agent Client Protocol'
  if (settings.headless === true) return `a session of ${settings.surface} without a window`
  return settings.surface === client || settings.surface === 'mcp' ? null : settings.surface
}

function realPath(directory: string): string {
  try {
    return fs.realpathSync(directory)
  } catch {
    // It is gone, or may not be looked at: its name is all there is.
    return path.resolve(directory)
  }
}
