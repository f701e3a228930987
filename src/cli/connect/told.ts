/** What connecting and disconnecting tell of the files that they wrote, or would write. */
import { shellWord } from '../../system/shell-word.ts'
import type { Invocation } from '../cli.ts'
import { write } from '../output.ts'
import { facts } from '../render.ts'
import type { Outcome } from './connect.ts'

export async function printPatch({ json, cli, out }: Invocation, outcome: Outcome): Promise<void> {
  if (json) await out.result({ ...summaryOf(outcome), diff: outcome.patch }, () => '')
  else if (outcome.patch === '') out.note('Nothing would be changed.')
  else await write(cli.stdout, outcome.patch)
}

export function summaryOf({ plan, connection, git }: Outcome) {
  return {
    ...(connection === null ? {} : subjectOf(connection)),
    changed: plan.changed,
    files: plan.files.map(({ file, change, left }) => ({
      ...{ file, change },
      ...(left === undefined ? {} : { left }),
    })),
    tracked: git.tracked,
    with_paths: git.with_paths,
  }
}

function subjectOf(connection: NonNullable<Outcome['connection']>) {
  const { client, project } = connection
  return { client, ...(connection.client === 'git' ? {} : { persona: connection.persona }), project }
}

export const fileLines = ({ plan }: Outcome) =>
  plan.files.length === 0 ? [] : [facts(plan.files.map(({ change, file }) => [change, file] as const))]

/** What git sees of the files; nothing outside of a work tree. */
export function gitLines({ git }: Outcome): string[] {
  const { tracked, with_paths } = git
  const by_hand = with_paths.filter((file) => tracked.includes(file))
  const loose = with_paths.filter((file) => !tracked.includes(file))
  return [
    ...tracked.map((file) => `tracked by git: ${file}`),
    ...by_hand.map(
      (file) =>
        `${file} holds paths of this machine, which its client needs there: \`git rm --cached ${shellWord(file)}\`, and ignore it.`,
    ),
    ...loose.map((file) => `${file} holds paths of this machine: keep it out of git.`),
  ]
}

/** What a disconnect could not take out, and how to. */
export function leftLines({ plan }: Outcome): string[] {
  return plan.files.flatMap(({ file, left }) =>
    left === undefined ? [] : [`Still there: ${file}: ${left}. Remove it by hand, then disconnect again.`],
  )
}

export const isLeft = ({ plan }: Outcome) => plan.files.some(({ left }) => left !== undefined)
