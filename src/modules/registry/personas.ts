/** Personas and projects as the rest of the hub sees them: what should exist. Durable. */
import type { Identity, SurfaceKind } from '../../contracts/ids.ts'
import type { Persona, Project, Registration } from '../../contracts/registry.ts'

export interface PersonaOverview extends Persona {
  pending_count: number
  registrations: Registration[]
}

export interface PersonaRegistry {
  /** Makes it, or brings a wrapped or removed one back; repeating it changes nothing. */
  add(input: { identity: Identity; surface: SurfaceKind; project?: string | undefined }): Promise<Persona>
  /** What a joining client may cause: makes an unknown persona, never revives one. Throws `persona_wrapped`. */
  ensure(identity: Identity, surface: SurfaceKind): Promise<Persona>
  get(identity: Identity): Persona | null
  list(): PersonaOverview[]
  /** Takes no more signals; its daemon is told to stop; what waits is kept. */
  wrap(identity: Identity): Promise<Persona>
  /** As wrap, and it disappears from lists. */
  remove(identity: Identity): Promise<Persona>
  projects(): Project[]
  /** Removes every persona that belongs to it. */
  removeProject(project: string): Promise<{ removed: Identity[] }>
}
