/** Output of connect and disconnect about the changed files. */
import { shellWord } from '../../system/process/shell-word.ts'
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
      file,
      change,
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

/** Returns lines about the files in git; none outside a work tree. */
export function gitLines({ git }: Outcome): string[] {
  const { tracked, with_paths } = git
  const tracked_paths = with_paths.filter((file) => tracked.includes(file))
  const untracked_paths = with_paths.filter((file) => !tracked.includes(file))
  return [
    ...tracked.map((file) => `tracked by git: ${file}`),
    ...tracked_paths.map(
      (file) =>
        `${file} contains paths of this machine, which its client requires: run \`git rm --cached ${shellWord(file)}\` and add it to .gitignore.`,
    ),
    ...untracked_paths.map((file) => `${file} contains paths of this machine: do not commit it.`),
  ]
}

/** Returns lines about entries that a disconnect could not remove. */
export function leftLines({ plan }: Outcome): string[] {
  return plan.files.flatMap(({ file, left }) =>
    left === undefined ? [] : [`${file} still contains ${left}. Remove it by hand, then disconnect again.`],
  )
}

export const isLeft = ({ plan }: Outcome) => plan.files.some(({ left }) => left !== undefined)
