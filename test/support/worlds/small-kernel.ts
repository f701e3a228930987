/** A kernel without modules: for decisions made before a handler runs, and for handlers of the test. */
import type { Caller } from '../../../src/contracts/token.ts'
import type { DispatchOutcome, Facade } from '../../../src/kernel/define.ts'
import { createKernel, type DispatchRequest, type Kernel } from '../../../src/kernel/dispatch.ts'
import type { Grants } from '../../../src/kernel/policy.ts'
import type { Modules } from '../../../src/modules/modules.ts'
import { createMemoryEventLog } from '../../../src/storage/memory/event-log.ts'
import { systemClock } from '../../../src/system/clock.ts'
import { createIds, systemRandom } from '../../../src/system/random.ts'
import { RECEIVED } from '../../../src/ports/sent-answer.ts'

export const AGENT: Caller = { tenant_id: 'local', kind: 'agent', identity: 'ada' }
export const OBSERVER: Caller = { tenant_id: 'local', kind: 'observer', identity: 'eve' }
export const OPERATOR: Caller = { tenant_id: 'local', kind: 'operator', identity: 'operator' }

export interface SmallKernel extends Kernel {
  /** Calls as the agent ada, unless `request` overrides the caller. */
  call(
    facade: string,
    action: string | undefined,
    params?: unknown,
    request?: Partial<DispatchRequest>,
  ): Promise<DispatchOutcome>
}

export function smallKernel(
  facades: readonly Facade[],
  grants: Partial<Grants> = {},
  modules: Partial<Modules> = {},
): SmallKernel {
  const quiet = () => undefined
  const kernel = createKernel({
    facades,
    grants: { facets: ['core'], pro: false, intents: {}, ...grants },
    modules: modules as Modules,
    events: createMemoryEventLog(systemClock),
    clock: systemClock,
    ids: createIds(systemClock, systemRandom),
    log: { debug: quiet, info: quiet, warn: quiet, error: quiet },
  })
  return {
    ...kernel,
    call: (facade, action, params = {}, request = {}) =>
      kernel.dispatch({
        ...{ facade, action, params },
        caller: AGENT,
        answer: RECEIVED,
        ...request,
      }),
  }
}

/** Returns the code of the rejection, or null. */
export function codeOf(outcome: DispatchOutcome): string | null {
  return outcome.ok ? null : outcome.problem.code
}
