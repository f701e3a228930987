/** The built-in workflows. Each runs a routine and summarizes its report. */
import { investigate } from './built-in/investigate.ts'
import { checksOf, commandSteps, PREFLIGHT, preflightSteps, SHIP } from './built-in/preflight.ts'
import { look, type Sections } from './built-in/sections.ts'
import { status } from './built-in/status.ts'
import type { RoutineCall } from './deps.ts'
import type { RoutineModule } from './service.ts'
import { TurnbellError } from '../../contracts/errors/errors.ts'
import type { RecordKind } from '../../contracts/memory/records.ts'
import type { Report, WorkflowCheck } from '../../contracts/runs/routine.ts'

export interface Preflight {
  /** No check failed. */
  ready: boolean
  checks: WorkflowCheck[]
  report: Report
}

export interface Shipping extends Omit<Preflight, 'report'> {
  shipped: boolean
  /** Null if it was not reached. */
  report: Report | null
}

/** Every method throws `limit_reached`. */
export interface WorkflowService {
  status(call: RoutineCall): Promise<Sections>
  investigate(call: RoutineCall, input: { query: string }): Promise<Sections>
  preflight(call: RoutineCall, input: { dry_run: boolean }): Promise<Preflight>
  /** Throws `workflow_unconfigured`. */
  ship(call: RoutineCall, input: { dry_run: boolean }): Promise<Shipping>
}

export function createWorkflow(
  routines: Pick<RoutineModule, 'perform' | 'settings'>,
  kinds: readonly RecordKind[],
): WorkflowService {
  const preflight: WorkflowService['preflight'] = async (call, { dry_run }) => {
    const commands = routines.settings().workflow.preflight
    const steps = preflightSteps(call.caller, commands)
    const { report } = await routines.perform(call, { routine: PREFLIGHT, steps, params: {}, dry_run })
    const checks = checksOf(report, commands)
    return { ready: checks.every(({ ok }) => ok !== false), checks, report }
  }
  return {
    status: (call) => look(routines, call, status(kinds)),
    investigate: (call, { query }) => look(routines, call, investigate(kinds), { query }),
    preflight,
    async ship(call, { dry_run }) {
      const commands = routines.settings().workflow.ship
      if (commands.length === 0) throw unconfigured()
      const { ready, checks } = await preflight(call, { dry_run })
      if (!ready) return { shipped: false, ready, checks, report: null }
      // Required, because later commands depend on earlier ones.
      const steps = commandSteps(commands).map((step) => ({ ...step, required: true }))
      const { report } = await routines.perform(call, { routine: SHIP, steps, params: {}, dry_run })
      return { shipped: report.ok && !dry_run, ready, checks, report }
    },
  }
}

function unconfigured(): TurnbellError {
  return new TurnbellError('workflow_unconfigured', {
    detail: 'The configuration has no commands to ship the project.',
    hint: 'The operator sets them in config.yaml and allows them in the sandbox: workflow: { ship: [["npm", "publish"]] } and sandbox: { exec: ["npm publish"] }.',
  })
}
