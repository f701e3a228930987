/** Personas at the hub. */
import * as z from 'zod'
import type { PersonaSettings } from '../../contracts/config.ts'
import { Persona } from '../../contracts/registry.ts'
import type { Invocation } from '../cli.ts'

const Listing = z.object({ personas: z.array(Persona) })

/** Every one that was not removed. */
export async function personasAtHub(invocation: Invocation): Promise<Persona[]> {
  return (await invocation.hub().ask('personas', 'list', {}, Listing)).personas
}

/** Makes it `active` there, whatever it was. */
export async function addAtHub(
  invocation: Invocation,
  identity: string,
  { surface, project }: Pick<PersonaSettings, 'surface' | 'project'>,
): Promise<Persona> {
  const input = { identity, surface, ...(project === undefined ? {} : { project }) }
  return invocation.hub().ask('personas', 'add', input, Persona)
}
