/** Looking without taking: `inbox`, `read`, and what the daemon reconciles with. */
import { requireReader } from './callers.ts'
import { defang, defangText, shownBytes } from './defang.ts'
import type { SignalParts } from './needs.ts'
import type { InboxQuery } from './service.ts'
import { TurnbellError } from '../../contracts/errors.ts'
import type { Identity, SignalId } from '../../contracts/ids.ts'
import { LIMITS } from '../../contracts/limits.ts'
import type { SignalView } from '../../contracts/signal.ts'
import type { Caller } from '../../contracts/token.ts'
import type { SignalPage, SignalQuery } from '../../ports/signal-store.ts'

export async function inbox(needs: SignalParts, caller: Caller, query: InboxQuery): Promise<SignalPage> {
  requireReader(caller, 'read an inbox')
  const to = caller.kind === 'operator' ? query.to : ownQueue(caller, query.to)
  const { limit, status, from, leased_to, before_seq } = query
  const asked: SignalQuery = { limit, bytes_max: LIMITS.inbox_bytes_max }
  // What is made harmless may grow by that; people see what is stored.
  if (caller.kind === 'agent') asked.bytesOf = (view) => shownBytes(shown(caller, view))
  if (to !== undefined) asked.to = to
  if (status !== undefined) asked.status = status
  if (from !== undefined) asked.from = from
  if (leased_to !== undefined) asked.leased_to = leased_to
  if (before_seq !== undefined) asked.before_seq = before_seq
  const { signals, next } = await needs.store.query(asked)
  return { signals: signals.map((view) => shown(caller, view)), next }
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
