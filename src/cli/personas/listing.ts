/** The personas of the hub: every one that was not removed. */
import * as z from 'zod'
import { Persona } from '../../contracts/registry.ts'
import type { Invocation } from '../cli.ts'

const Listing = z.object({ personas: z.array(Persona) })

export async function personasAtHub(invocation: Invocation): Promise<Persona[]> {
  return (await invocation.hub().ask('personas', 'list', {}, Listing)).personas
}
