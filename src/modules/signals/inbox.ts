/** Reads signals without draining them: `inbox` and `read`. */
import { requireReader } from '../lib/caller-guards.ts'
import { defined } from '../lib/defined.ts'
import type { OperationDeps, SignalService } from './types.ts'
import { TurnbellError } from '../../contracts/errors/errors.ts'
import type { Identity } from '../../contracts/ids.ts'
import { LIMITS } from '../../contracts/limits/limits.ts'
import type { Caller } from '../../contracts/token.ts'

export function createInbox({ store }: OperationDeps): Pick<SignalService, 'inbox' | 'read'> {
  return {
    async inbox(caller, { limit, status, from, leased_to, before_seq, ...query }) {
      requireReader(caller, 'read an inbox')
      const to = caller.kind === 'operator' ? query.to : ownQueue(caller, query.to)
      return store.query({
        limit,
        bytes_max: LIMITS.inbox_bytes_max,
        ...defined({ to, status, from, leased_to, before_seq }),
      })
    },

    /** A persona reads what it sent and what was sent to it; others' signals are reported as unknown. */
    async read(caller, signal_id) {
      requireReader(caller, 'read a signal')
      const view = await store.read(signal_id)
      const own = view !== null && (view.to === caller.identity || view.from === caller.identity)
      if (view === null || !(own || caller.kind === 'operator')) {
        throw new TurnbellError('signal_unknown', {
          detail: `Signal ${signal_id} does not exist or is not visible to ${caller.identity}.`,
        })
      }
      return view
    },
  }
}

function ownQueue(caller: Caller, to: Identity | undefined): Identity {
  if (to === undefined || to === caller.identity) return caller.identity
  throw new TurnbellError('identity_mismatch', {
    detail: `The token belongs to ${caller.identity} and gives no access to the inbox of ${to}.`,
  })
}
