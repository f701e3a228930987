/** The kernel as a handler sees it: only actions and events that its caller may use. */
import {
  takesAnyKind,
  actionLine,
  describeAction,
  describeFacade,
  describeRecords,
} from './describe-action.ts'
import type { DispatchOutcome, Found, KernelView } from './define.ts'
import { batched } from './batch.ts'
import { permit, refusal, type Asking } from './policy.ts'
import type { Registry } from './registry.ts'
import type { ActionSearch } from './search.ts'
import { spokenCall, type NamedCall } from './normalize-call.ts'

export interface ViewNeeds {
  registry: Registry
  search: ActionSearch
  asking: Asking
  /** `passed_on`: the answer becomes the whole answer of the outer call. */
  dispatch: (call: NamedCall, how: { passed_on: boolean }) => Promise<DispatchOutcome>
  /** Checks a call as a dispatch does, without running its handler. */
  check: (call: NamedCall) => { mutates: boolean }
  events: KernelView['events']
}

export function createKernelView(needs: ViewNeeds): KernelView {
  const { registry, search, asking } = needs
  const dispatch = (call: NamedCall) => needs.dispatch(call, { passed_on: false })
  const isOpen = ({ facade, action }: Found) => refusal(asking, facade, action) === null
  return {
    search: (query, limit) => search(query).filter(isOpen).slice(0, limit).map(actionLine),
    describe(name, kind) {
      const facade = registry.facade(name)
      if (facade === null) {
        const found = registry.resolve(name)
        permit(asking, found.facade, found.action)
        return { ...describeAction(found), ...describeRecords(registry, found, kind) }
      }
      const all = registry.actions.filter((found) => found.facade === facade)
      const open = all.filter(isOpen)
      // If every action is refused, the refusal of the first one is thrown.
      if (open.length === 0 && all[0] !== undefined) permit(asking, facade, all[0].action)
      const kinds = open.find(takesAnyKind)
      return { ...describeFacade(facade, open), ...(kinds && describeRecords(registry, kinds, kind)) }
    },
    call: (facade, action, params) =>
      dispatch(action === undefined ? { facade, params } : { facade, action, params }),
    check: (facade, action, params) => needs.check({ facade, action, params }),
    batch: (calls) => batched(calls, ({ facade, action, params }) => dispatch({ facade, action, params })),
    invoke: (name, args) => needs.dispatch(spokenCall(registry, name, args), { passed_on: true }),
    events: needs.events,
  }
}
