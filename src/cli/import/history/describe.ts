/** The summary of an import for people. */
import { OUTCOMES, type HistorySummary, type Outcome } from './import-history.ts'
import { facts, printableLine } from '../../render.ts'

/** Returns lines for the terminal. File names come from the folder, which is not trusted. */
export function describeHistory(
  folder: string,
  identity: string,
  dry_run: boolean,
  summary: HistorySummary,
): string {
  const { sessions, requests, subtasks, actions, skipped_lines, orphaned, unread } = summary
  const counts = (Object.keys(OUTCOMES) as Outcome[]).filter(
    (outcome) => sessions[outcome] > 0 || outcome === 'imported',
  )
  const work = `${requests} requests, ${subtasks} subagents, ${actions} tool calls`
  return [
    dry_run ? `Would import from ${folder} for ${identity}:` : `Imported from ${folder} for ${identity}:`,
    ...facts([
      ...counts.map((outcome): [string, string] => ['sessions', `${sessions[outcome]} ${OUTCOMES[outcome]}`]),
      ['work', work],
    ]).split('\n'),
    ...notes([
      [skipped_lines.damaged, 'lines are not readable'],
      [skipped_lines.too_long, 'lines are too long'],
      [orphaned, 'files of subagents belong to sessions that were not found'],
    ]),
    ...unread.map(({ file, reason }) => `Not readable: ${file}: ${reason}`),
  ]
    .map(printableLine)
    .join('\n')
}

function notes(counted: [number, string][]): string[] {
  return counted.flatMap(([count, what]) => (count === 0 ? [] : [`Skipped: ${count} ${what}.`]))
}
