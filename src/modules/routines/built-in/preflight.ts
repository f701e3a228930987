/** Checks before the project is shipped. Each check is a step; other steps only provide its input. */
import { LIMITS } from '../../../contracts/limits/limits.ts'
import type { Report, ReportStep, RoutineStep, WorkflowCheck } from '../../../contracts/runs/routine.ts'
import type { Caller } from '../../../contracts/token.ts'

/** Signals with this or a higher priority prevent shipping. */
export const URGENT_PRIORITY = 7

export const PREFLIGHT = 'workflow.preflight'
export const SHIP = 'workflow.ship'

type Step = RoutineStep & { id: string }

const REPOSITORY: readonly Step[] = [
  { id: 'git', step: 'call', with: { facade: 'git', action: 'status' } },
  { id: 'no_conflicts', step: 'expect', with: { value: { $from: 'git.counts.conflicted' }, equals: 0 } },
  // Null without an upstream.
  { id: 'not_behind', step: 'expect', with: { value: { $from: 'git.behind' }, matches: '^(0|null)$' } },
]

const QUEUE: readonly Step[] = [
  {
    id: 'waiting',
    step: 'call',
    // The first one has the highest priority.
    with: { facade: 'signals', action: 'pending', params: { peek: true, limit: 1 } },
  },
  {
    id: 'nothing_urgent',
    step: 'expect',
    with: { value: { $from: 'waiting.signals.0.priority', default: 0 }, at_most: URGENT_PRIORITY - 1 },
  },
]

const LOOKS: readonly string[] = ['git', 'waiting']

/** The operator has no queue, so its signals are not checked. */
export function preflightSteps(caller: Caller, commands: readonly string[][]): Step[] {
  return [...REPOSITORY, ...(caller.kind === 'agent' ? QUEUE : []), ...commandSteps(commands)]
}

export function commandSteps(commands: readonly string[][]): Step[] {
  return commands.map((argv, at) => ({
    id: `command_${at + 1}`,
    step: 'exec',
    with: { argv, timeout_ms: LIMITS.program_ms_max },
  }))
}

/** Errors of checks that do not apply to this hub or project. */
const NOT_APPLICABLE: readonly string[] = [
  ...['facade_unknown', 'action_unknown', 'facet_forbidden', 'pro_required'],
  ...['repository_unknown', 'project_unknown'],
]

export function checksOf({ steps }: Report, commands: readonly string[][]): WorkflowCheck[] {
  const looked = new Map(steps.filter(({ id }) => LOOKS.includes(id)).map((step) => [step.id, step]))
  return steps
    .filter(({ id }) => !LOOKS.includes(id))
    .map((step) => {
      const [, command] = /^command_(\d+)$/.exec(step.id) ?? []
      const name = command === undefined ? step.id : (commands[Number(command) - 1] ?? []).join(' ')
      return { name, ...judged(step, looked) }
    })
}

function judged(
  { status, problem, because = '' }: ReportStep,
  looked: ReadonlyMap<string, ReportStep>,
): Pick<WorkflowCheck, 'ok' | 'detail'> {
  if (status === 'ok') return { ok: true, detail: 'Passed.' }
  if (status === 'planned') return { ok: null, detail: 'Not run in a dry run.' }
  const cause = problem ?? looked.get(because)?.problem
  const detail = cause?.detail ?? `Not checked, because ${because} failed.`
  return { ok: status === 'skipped' && NOT_APPLICABLE.includes(cause?.code ?? '') ? null : false, detail }
}
