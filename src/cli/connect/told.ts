/** What connecting and disconnecting tell of the files that they wrote, or would write. */
import type { Invocation } from '../cli.ts'
import { write } from '../output.ts'
import { facts } from '../render.ts'
import type { Outcome } from './connect.ts'

export async function printPatch({ json, cli, out }: Invocation, outcome: Outcome): Promise<void> {
  if (json) await out.result({ ...summaryOf(outcome), diff: outcome.patch }, () => '')
  else if (outcome.patch === '') out.note('Nothing would be changed.')
  else await write(cli.stdout, outcome.patch)
}

export function summaryOf({ plan, connection }: Outcome) {
  return {
    ...(connection === null ? {} : subjectOf(connection)),
    changed: plan.changed,
    files: plan.files.map(({ file, change }) => ({ file, change })),
  }
}

function subjectOf(connection: NonNullable<Outcome['connection']>) {
  const { client, project } = connection
  return { client, ...(connection.client === 'git' ? {} : { persona: connection.persona }), project }
}

export const fileLines = ({ plan }: Outcome) =>
  plan.files.length === 0 ? [] : [facts(plan.files.map(({ change, file }) => [change, file] as const))]
