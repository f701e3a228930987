/** Calls of the hub about personas. */
import * as z from 'zod'
import type { PersonaSettings } from '../../contracts/config.ts'
import { Persona, PersonaOverview } from '../../contracts/registry.ts'
import type { Invocation } from '../cli.ts'

const Listing = z.object({ personas: z.array(Persona) })
const Overviews = z.object({ personas: z.array(PersonaOverview) })

/** Returns all personas that were not removed. */
export async function personasAtHub(invocation: Invocation): Promise<Persona[]> {
  return (await invocation.hub().ask('personas', 'list', {}, Listing)).personas
}

/** Returns all personas with their registrations. */
export async function overviewAtHub(invocation: Invocation, timeout_ms: number): Promise<PersonaOverview[]> {
  const hub = invocation.hub()
  return (await hub.ask('personas', 'list', {}, Overviews, undefined, timeout_ms)).personas
}

/** Adds a persona, or sets an existing one to `active`. */
export async function addAtHub(
  invocation: Invocation,
  identity: string,
  { surface, project }: Pick<PersonaSettings, 'surface' | 'project'>,
): Promise<Persona> {
  const input = { identity, surface, ...(project === undefined ? {} : { project }) }
  return invocation.hub().ask('personas', 'add', input, Persona)
}
