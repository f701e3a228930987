/** What has to hold before the project is shipped. Each check is a step; the others only find out. */
import { LIMITS } from '../../../contracts/limits.ts'
import type { Report, ReportStep, RoutineStep, WorkflowCheck } from '../../../contracts/routine.ts'
import type { Caller } from '../../../contracts/token.ts'

/** From this priority on, a signal does not wait until something was shipped. */
export const URGENT_PRIORITY = 7

export const PREFLIGHT = 'workflow.preflight'
export const SHIP = 'workflow.ship'

type Step = RoutineStep & { id: string }

const REPOSITORY: readonly Step[] = [
  { id: 'git', step: 'call', with: { facade: 'git', action: 'status' } },
  { id: 'no_conflicts', step: 'expect', with: { value: { $from: 'git.counts.conflicted' }, equals: 0 } },
  // Null where there is no upstream, which nothing can be behind of.
  { id: 'not_behind', step: 'expect', with: { value: { $from: 'git.behind' }, matches: '^(0|null)$' } },
]

const QUEUE: readonly Step[] = [
  {
    id: 'waiting',
    step: 'call',
    // The most urgent one comes first.
    with: { facade: 'signals', action: 'pending', params: { peek: true, limit: 1 } },
  },
  {
    id: 'nothing_urgent',
    step: 'expect',
    with: { value: { $from: 'waiting.signals.0.priority', default: 0 }, at_most: URGENT_PRIORITY - 1 },
  },
]

const LOOKS: readonly string[] = ['git', 'waiting']

/** The operator has no queue that something could wait in. */
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

/** What the hub does not have, or the project is not, nobody can be asked about. */
const NOT_HERE: readonly string[] = [
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
  if (status === 'ok') return { ok: true, detail: 'It holds.' }
  if (status === 'planned') return { ok: null, detail: 'A dry run does not try it.' }
  const told = problem ?? looked.get(because)?.problem
  const detail = told?.detail ?? `It could not be told without ${because}.`
  return { ok: status === 'skipped' && NOT_HERE.includes(told?.code ?? '') ? null : false, detail }
}
