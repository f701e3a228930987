/** Codecs of locks, blockings and subscriptions. */
import { Blocking, Lock, Subscription } from '../../contracts/coordination.ts'
import type { CommonRecordCodec } from '../lib/hub-records.ts'

export const LOCKS: CommonRecordCodec<Lock> = {
  // Stored, so it remains the older word for a lock.
  kind: 'lease',
  item: Lock,
  // The common field `scope` of a record has another meaning, so the lock's scope is stored as `covers`.
  toRecord: ({ lock_id: id, status, taken_at: created_at, scope: covers, note, ...fields }) => ({
    id,
    status,
    agent_id: fields.identity,
    created_at,
    fields: { ...fields, covers, ...(note === undefined ? {} : { note }) },
  }),
  fromRecord: ({ id: lock_id, status, created_at: taken_at, fields: { covers: scope, ...fields } }) => ({
    ...fields,
    lock_id,
    status,
    taken_at,
    scope,
  }),
}

/** The only status, because the record of an ended item is removed. */
const ACTIVE = 'active'

export const BLOCKINGS: CommonRecordCodec<Blocking> = {
  kind: 'blocking',
  item: Blocking,
  toRecord: ({ blocking_id: id, since: created_at, ...fields }) => ({
    id,
    status: ACTIVE,
    agent_id: fields.blocker,
    created_at,
    fields,
  }),
  fromRecord: ({ id: blocking_id, created_at: since, fields }) => ({ ...fields, blocking_id, since }),
}

export const SUBSCRIPTIONS: CommonRecordCodec<Subscription> = {
  kind: 'subscription',
  item: Subscription,
  toRecord: ({ subscription_id: id, since: created_at, ...fields }) => ({
    id,
    status: ACTIVE,
    agent_id: fields.identity,
    created_at,
    fields,
  }),
  fromRecord: ({ id: subscription_id, created_at: since, fields }) => ({ ...fields, subscription_id, since }),
}
