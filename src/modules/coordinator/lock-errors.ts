/** Errors about locks: each names the holder, the end of the lock and the next step. */
import type { Lock } from '../../contracts/coordination.ts'
import { TurnbellError } from '../../contracts/errors/errors.ts'
import type { LockOwner } from './lock-table.ts'

export function resourceLockedError(caller: LockOwner, resource: string, lock: Lock): TurnbellError {
  const { identity, session_id, epoch, expires_at } = lock
  const retry = `lock again after ${expires_at} or after the event lease.released`
  return new TurnbellError('resource_locked', {
    detail: `${quoted(resource)} cannot be locked: ${describeHolder(lock)}.`,
    hint:
      identity === caller.identity
        ? `The holder is session ${quoted(session_id)} of your own persona, with epoch ${epoch}. If it has ended, lock with steal_own: true; otherwise ${retry}.`
        : `Continue with other work and ${retry}, or ask ${identity} with signals send.`,
  })
}

export function foreignLockError(resource: string, lock: Lock): TurnbellError {
  return new TurnbellError('resource_locked', {
    detail: `${quoted(resource)} is locked by another session: ${describeHolder(lock)}.`,
    hint: `Ask ${lock.identity} with signals send. Only the operator may unlock it, with force: true.`,
  })
}

export function staleLockError(resource: string, epoch: number, current: Lock | undefined): TurnbellError {
  const holder = current === undefined ? 'it is not locked now' : describeHolder(current)
  return new TurnbellError('lease_stale', {
    detail: `The lock on ${quoted(resource)} with epoch ${epoch} has ended: ${holder}.`,
  })
}

function describeHolder({ identity, resource, scope, epoch, expires_at, note }: Lock): string {
  const what = `${quoted(resource)}${scope === 'tree' ? ' and everything below it' : ''}`
  const why = note === undefined ? '' : ` (${quoted(note)})`
  return `${identity} holds ${what} until ${expires_at}, epoch ${epoch}${why}`
}

function quoted(text: string): string {
  return JSON.stringify(text)
}
