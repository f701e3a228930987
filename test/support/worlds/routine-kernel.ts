/** A kernel with routines over in-memory stores, and additional facades of the test. */
import { routine } from '../../../src/facades/routine.ts'
import { tool } from '../../../src/facades/tool.ts'
import { workflow } from '../../../src/facades/workflow.ts'
import { openRoutines, type Outside } from '../../../src/hub/routines.ts'
import type { Facade } from '../../../src/kernel/define.ts'
import type { Grants } from '../../../src/kernel/policy.ts'
import type { Problem } from '../../../src/contracts/errors/errors.ts'
import type { Report } from '../../../src/contracts/runs/routine.ts'
import type { Project } from '../../../src/contracts/registry.ts'
import type { DispatchRequest } from '../../../src/kernel/dispatch.ts'
import type { RoutineModule, RoutineSettings } from '../../../src/modules/routines/service.ts'
import type { StepType } from '../../../src/modules/routines/step-type.ts'
import type { RecordStore } from '../../../src/ports/record-store.ts'
import { createMemoryRecordStore } from '../../../src/storage/memory/record-store.ts'
import { createIds } from '../../../src/system/random.ts'
import { fakeClock, seededRandom, type FakeClock } from '../fakes/fake-clock.ts'
import { playedOutside } from '../fakes/fake-outside.ts'
import { NO_SANDBOX } from './routine-world.ts'
import { smallKernel, type SmallKernel } from './small-kernel.ts'

export interface RoutineKernel {
  kernel: SmallKernel
  routines: RoutineModule
  records: RecordStore
  clock: FakeClock
  logged: { level: string; fields: object; message: string }[]
  /** Returns the result; throws the problem of a rejected call. */
  call: <T = Report>(
    facade: string,
    action: string,
    params?: object,
    request?: Partial<DispatchRequest>,
  ) => Promise<T>
  refused: (...call: Parameters<RoutineKernel['call']>) => Promise<Problem>
}

export const settingsWith = (settings: Partial<RoutineSettings> = {}): RoutineSettings => ({
  ...{ routines: {}, sandbox: NO_SANDBOX, workflow: { preflight: [], ship: [] } },
  ...settings,
})

export function routineKernel(
  played: {
    settings?: Partial<RoutineSettings>
    outside?: Outside
    facades?: readonly Facade[]
    grants?: Partial<Grants>
    records?: RecordStore
    clock?: FakeClock
    steps?: readonly StepType[]
    projects?: readonly Project[]
  } = {},
): RoutineKernel {
  const { clock = fakeClock(), records = createMemoryRecordStore(), projects = [] } = played
  const logged: RoutineKernel['logged'] = []
  const at = (level: string) => (fields: object, message: string) =>
    void logged.push({ level, fields, message })
  const { routines, workflow: workflows } = openRoutines({
    outside: played.outside ?? playedOutside(),
    settings: settingsWith(played.settings),
    steps: played.steps,
    personas: { get: () => null },
    projects: {
      resolve(scope) {
        const project = projects.find(({ root }) => root === scope) ?? null
        return { project, within: project }
      },
      rootFor: (directory) => directory,
      isInPlace: () => true,
    },
    kinds: (played.facades ?? []).flatMap(({ kinds = [] }) => kinds),
    ...{ hub_records: records, clock },
    ids: createIds(clock, seededRandom()),
    log: { warn: at('warn'), error: at('error') },
  })
  const facades = [workflow, routine, tool, ...(played.facades ?? [])]
  const kernel = smallKernel(facades, played.grants, { routines, workflow: workflows })
  return {
    ...{ kernel, routines, records, clock, logged },
    async call<T>(facade: string, action: string, params: object = {}, request = {}) {
      const outcome = await kernel.call(facade, action, params, request)
      if (outcome.ok) return outcome.result as T
      throw new Error(`${outcome.problem.code}: ${outcome.problem.detail}`)
    },
    async refused(facade, action, params = {}, request = {}) {
      const outcome = await kernel.call(facade, action, params, request)
      if (!outcome.ok) return outcome.problem
      throw new Error(`${facade} ${action} was not refused: ${JSON.stringify(outcome.result)}`)
    },
  }
}
