/** Consequences of removing personas: undelivered signals, and clients that are still connected to them. */
import { TurnbellError } from '../../contracts/errors/errors.ts'
import * as z from 'zod'
import { PersonaOverview } from '../../contracts/registry.ts'
import { shellWord } from '../../system/process/shell-word.ts'
import { canAsk, confirm } from '../ask.ts'
import type { Invocation } from '../cli.ts'
import { connectionsIn, type ClientConnection } from '../connect/connection-record.ts'
import { count } from '../render.ts'

export interface Leaving {
  /** Personas with pending signals. */
  waiting: { identity: string; pending_count: number }[]
  /** Connections whose client still acts for one of the personas. */
  wired: Pick<ClientConnection, 'client' | 'project' | 'persona'>[]
}

/** Only the required fields, because the hub may have another version. */
const Listing = z.object({ personas: z.array(PersonaOverview.pick({ identity: true, pending_count: true })) })

/** Without a hub, no pending signals are reported. */
export async function leavingOf(invocation: Invocation, identities: readonly string[]): Promise<Leaving> {
  const wired = connectionsIn(invocation.home)
    .each()
    .flatMap((record) => (record instanceof TurnbellError || record.client === 'git' ? [] : [record]))
    .filter(({ persona }) => identities.includes(persona))
    .map(({ client, project, persona }) => ({ client, project, persona }))
  return { waiting: await waitingFor(invocation, identities), wired }
}

async function waitingFor(
  invocation: Invocation,
  identities: readonly string[],
): Promise<Leaving['waiting']> {
  if (identities.length === 0) return []
  try {
    const { personas } = await invocation.hub().ask('personas', 'list', {}, Listing)
    return personas
      .filter(({ identity, pending_count }) => identities.includes(identity) && pending_count > 0)
      .map(({ identity, pending_count }) => ({ identity, pending_count }))
  } catch (error) {
    // The removal itself reports the problem with the hub.
    if (error instanceof TurnbellError) return []
    throw error
  }
}

/**
 * Resolves if the personas may be removed: there are no consequences, it is forced, or the person confirms. Throws
 * `removal_unforced` if no one can be asked, or the answer is no.
 */
export async function requireRemovable(
  { cli, out, json }: Invocation,
  leaving: Leaving,
  force: boolean,
): Promise<void> {
  const lines = describeLeaving(leaving)
  if (lines.length === 0) return
  if (!force && (json || !canAsk(cli))) throw unforced(lines)
  out.note(lines.join('\n'))
  if (!force && !(await confirm(cli, 'Remove?'))) throw unforced(['The answer was no'])
}

function describeLeaving({ waiting, wired }: Leaving): string[] {
  return [
    ...waiting.map(
      ({ identity, pending_count }) =>
        `${count(pending_count, 'signal')} for ${identity} would not be drained`,
    ),
    ...wired.map(
      ({ client, project, persona }) =>
        `${client} in ${project} still acts for ${persona}: \`turnbell disconnect ${client} --project ${shellWord(project)}\``,
    ),
  ]
}

function unforced(lines: readonly string[]): TurnbellError {
  return new TurnbellError('removal_unforced', { detail: `${lines.join('; ')}.` })
}
