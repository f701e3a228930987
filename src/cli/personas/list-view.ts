/** `turnbell persona list`: the personas of the hub, with the projects of this machine's configuration. */
import * as z from 'zod'
import { PersonaOverview } from '../../contracts/registry.ts'
import type { Invocation } from '../cli.ts'
import { table } from '../render.ts'

const Listing = z.object({ personas: z.array(PersonaOverview) })

export async function listPersonas(invocation: Invocation): Promise<void> {
  const { out, cli } = invocation
  const listing = await invocation.hub().ask('personas', 'list', {}, Listing)
  const here = invocation.config().personas
  await out.result(listing, () => describe(listing.personas, here, cli.colors.dim))
}

function describe(
  personas: readonly PersonaOverview[],
  here: Record<string, { project?: string | undefined }>,
  dim: (text: string) => string,
): string {
  if (personas.length === 0) {
    return 'No personas yet. Add one: turnbell persona add NAME --surface claude-code'
  }
  const rows = personas.map((persona) => {
    const connected = persona.registrations.filter((row) => row.connected).map(({ kind }) => kind)
    return [
      persona.identity,
      persona.state,
      persona.surface,
      String(persona.pending_count),
      [...new Set(connected)].sort().join(', ') || 'none',
      here[persona.identity] === undefined ? '' : (here[persona.identity]?.project ?? 'here'),
    ]
  })
  const [head = '', ...lines] = table(
    ['PERSONA', 'STATE', 'SURFACE', 'PENDING', 'CONNECTED', 'CONFIGURED'],
    rows,
  ).split('\n')
  return [dim(head), ...lines].join('\n')
}
