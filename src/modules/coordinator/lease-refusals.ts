/** What is said to whoever cannot have a resource: who has it, until when, and what to do about it. */
import type { Lease } from '../../contracts/coordination.ts'
import { TurnbellError } from '../../contracts/errors.ts'
import { defangText } from '../signals/defang.ts'
import type { LeaseOwner } from './leases.ts'

export function resourceLocked(asking: LeaseOwner, resource: string, lease: Lease): TurnbellError {
  const { identity, session_id, epoch, expires_at } = lease
  const waiting = `lock again after ${expires_at}, or when the event lease.released tells that it is free`
  return new TurnbellError('resource_locked', {
    detail: `${quoted(resource)} cannot be locked: ${holding(lease)}.`,
    hint:
      identity === asking.identity
        ? `That is the session ${quoted(session_id)} of your own persona. Once it is gone, lock with steal_own: true; else ${waiting}. Its epoch is ${epoch}.`
        : `Do something else and ${waiting}; or ask ${identity} for it with signals send.`,
  })
}

export function notYours(resource: string, lease: Lease): TurnbellError {
  return new TurnbellError('resource_locked', {
    detail: `${quoted(resource)} is not yours to unlock: ${holding(lease)}.`,
    hint: `Ask ${lease.identity} with signals send; only the operator unlocks what is another's, with force: true.`,
  })
}

export function leaseStale(resource: string, epoch: number, now: Lease | undefined): TurnbellError {
  const since = now === undefined ? 'nobody holds it now' : holding(now)
  return new TurnbellError('lease_stale', {
    detail: `The lease on ${quoted(resource)} with epoch ${epoch} is not yours any more: ${since}.`,
  })
}

function holding({ identity, resource, scope, epoch, expires_at, note }: Lease): string {
  const what = `${quoted(resource)}${scope === 'tree' ? ' with all below it' : ''}`
  const why = note === undefined ? '' : ` (${quoted(note)})`
  return `${identity} holds ${what} until ${expires_at}, epoch ${epoch}${why}`
}

/** Others chose these words, and a model reads them. */
function quoted(text: string): string {
  return JSON.stringify(defangText(text))
}
