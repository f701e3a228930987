/** Summary of a run, for lists and traces. */
import { truncate } from '../../contracts/text/truncate.ts'
import type { Run, RunSummary } from '../../contracts/runs/runs.ts'

/** Characters. */
const PROMPT_SHOWN = 200

export function summaryOf(run: Run): RunSummary {
  const { run_id, agent_id, status, created_at, completed_at, delegated_by, outcome } = run
  const count = (wanted: string) => run.assumptions.filter((one) => one.status === wanted).length
  return {
    run_id,
    agent_id,
    status,
    created_at,
    completed_at,
    ...(delegated_by === undefined ? {} : { delegated_by }),
    ...(outcome === undefined ? {} : { outcome: withoutData(outcome) }),
    prompt: truncate(run.prompt, PROMPT_SHOWN),
    delegated: run.delegated_to.length,
    checkpoints: run.checkpoints.length + run.checkpoints_dropped,
    assumptions: { open: count('open'), held: count('held'), broken: count('broken') },
  }
}

function withoutData({ success, summary }: NonNullable<Run['outcome']>): NonNullable<Run['outcome']> {
  return { success, ...(summary === undefined ? {} : { summary: truncate(summary, PROMPT_SHOWN) }) }
}
