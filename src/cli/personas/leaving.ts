/** Consequences of removing personas: undelivered signals, and clients that are still wired to them. */
import { TurnbellError } from '../../contracts/errors.ts'
import * as z from 'zod'
import { PersonaOverview } from '../../contracts/registry.ts'
import { shellWord } from '../../system/shell-word.ts'
import { canAsk, confirm } from '../ask.ts'
import type { Invocation } from '../cli.ts'
import { connectionsIn, type ClientConnection } from '../connect/record.ts'
import { count } from '../render.ts'

export interface Leaving {
  /** Signals that wait, by persona; only those where some do. */
  waiting: { identity: string; pending_count: number }[]
  /** Projects whose client still acts for one of them. */
  wired: Pick<ClientConnection, 'client' | 'project' | 'persona'>[]
}

/** Only what is needed: the hub may be of another version. */
const Listing = z.object({ personas: z.array(PersonaOverview.pick({ identity: true, pending_count: true })) })

/** Without a hub nothing is known to wait. */
export async function leavingOf(invocation: Invocation, identities: readonly string[]): Promise<Leaving> {
  const wired = connectionsIn(invocation.home)
    .each()
    .flatMap((one) => (one instanceof TurnbellError || one.client === 'git' ? [] : [one]))
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
    // The removal itself says what is wrong with the hub.
    if (error instanceof TurnbellError) return []
    throw error
  }
}

/**
 * Resolves where they may be removed: nothing is left behind, it is forced, or the person says yes.
 *
 * @throws `removal_unforced` where nobody can be asked, or the answer is no.
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
