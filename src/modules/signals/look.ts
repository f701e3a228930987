/** Looking without taking: `inbox`, `read`, and what the daemon reconciles with. */
import { requireReader } from './callers.ts'
import { defang, defangText } from './defang.ts'
import type { SignalParts } from './needs.ts'
import type { InboxQuery } from './service.ts'
import { TurnbellError } from '../../contracts/errors.ts'
import type { Identity, SignalId } from '../../contracts/ids.ts'
import type { SignalView } from '../../contracts/signal.ts'
import type { Caller } from '../../contracts/token.ts'

export async function inbox(needs: SignalParts, caller: Caller, query: InboxQuery): Promise<SignalView[]> {
  requireReader(caller, 'read an inbox')
  const to = caller.kind === 'operator' ? query.to : ownQueue(caller, query.to)
  const views = await needs.store.query({
    limit: query.limit,
    ...(to === undefined ? {} : { to }),
    ...(query.status === undefined ? {} : { status: query.status }),
    ...(query.from === undefined ? {} : { from: query.from }),
    ...(query.leased_to === undefined ? {} : { leased_to: query.leased_to }),
    ...(query.before_seq === undefined ? {} : { before_seq: query.before_seq }),
  })
  return views.map((view) => shown(caller, view))
}

/** A persona reads what it sent and what was sent to it; what is others' is as unknown as what is not there. */
export async function read(needs: SignalParts, caller: Caller, signal_id: SignalId): Promise<SignalView> {
  requireReader(caller, 'read a signal')
  const view = await needs.store.read(signal_id)
  const theirs = view !== null && (view.to === caller.identity || view.from === caller.identity)
  if (view === null || !(theirs || caller.kind === 'operator')) {
    throw new TurnbellError('signal_unknown', { detail: `There is no signal ${signal_id} that you may see.` })
  }
  return shown(caller, view)
}

function ownQueue(caller: Caller, to: Identity | undefined): Identity {
  if (to === undefined || to === caller.identity) return caller.identity
  throw new TurnbellError('identity_mismatch', {
    detail: `The token is ${caller.identity}'s; it cannot look into the inbox of ${to}.`,
  })
}

/** People see what was stored; a model sees it defanged. */
function shown(caller: Caller, view: SignalView): SignalView {
  if (caller.kind !== 'agent') return view
  return {
    ...view,
    payload: defang(view.payload),
    ...(view.topic === undefined ? {} : { topic: defangText(view.topic) }),
    ...(view.result === undefined ? {} : { result: defang(view.result) }),
  }
}
