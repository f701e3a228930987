/** The delegation tree around a run. Deleted runs are shown as missing. */
import { LIMITS } from '../../contracts/limits/limits.ts'
import type { Run, Trace, TracedRun, TraceNode } from '../../contracts/runs/runs.ts'
import { summaryOf } from './summary.ts'

export type FindRun = (run_id: string) => Promise<Run | null>

/** Breadth first, so that the nearest runs are shown if there are too many. */
export async function traceOf(root: Run, depth: number, find: FindRun): Promise<Trace> {
  const top: TraceNode = { run: summaryOf(root), children: [] }
  let shown = 1
  let bytes = 0
  let generation: { node: TraceNode; run: Run; above: readonly string[] }[] = [
    { node: top, run: root, above: [root.run_id] },
  ]
  for (let level = 0; generation.length > 0; level += 1) {
    const next: typeof generation = []
    for (const { node, run, above } of generation) {
      for (const [index, { run_id }] of run.delegated_to.entries()) {
        if (level === depth || shown === LIMITS.trace_runs_max || bytes > LIMITS.answer_list_bytes_max) {
          node.left_out = run.delegated_to.length - index
          break
        }
        shown += 1
        const child = above.includes(run_id) ? null : await find(run_id)
        const traced: TracedRun = above.includes(run_id)
          ? { run_id, repeated: true }
          : child === null
            ? { run_id, missing: true }
            : summaryOf(child)
        bytes += Buffer.byteLength(JSON.stringify(traced))
        const below: TraceNode = { run: traced, children: [] }
        node.children.push(below)
        if (child !== null) next.push({ node: below, run: child, above: [...above, run_id] })
      }
    }
    generation = next
  }
  const { children, left_out } = top
  const parent = await parentOf(root, find)
  return {
    run: summaryOf(root),
    ...(parent === null ? {} : { parent }),
    children,
    ...(left_out === undefined ? {} : { left_out }),
  }
}

async function parentOf(run: Run, find: FindRun): Promise<TracedRun | null> {
  const run_id = run.delegated_by?.run_id
  if (run_id === undefined) return null
  if (run_id === run.run_id) return { run_id, repeated: true }
  const parent = await find(run_id)
  return parent === null ? { run_id, missing: true } : summaryOf(parent)
}

/** Returns the runs that delegated this one, nearest first. The last may be missing. */
export async function parentsOf(
  run: Run,
  find: FindRun,
): Promise<(Run | { run_id: string; missing: true })[]> {
  const parents: (Run | { run_id: string; missing: true })[] = []
  const above = new Set([run.run_id])
  for (let at: Run = run; parents.length < LIMITS.trace_depth_max;) {
    const run_id = at.delegated_by?.run_id
    if (run_id === undefined || above.has(run_id)) break
    above.add(run_id)
    const parent = await find(run_id)
    parents.push(parent ?? { run_id, missing: true })
    if (parent === null) break
    at = parent
  }
  return parents
}
