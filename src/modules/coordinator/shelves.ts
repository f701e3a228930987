/** How leases, blockings and subscriptions are written down. */
import { Blocking, Lease, Subscription } from '../../contracts/coordination.ts'
import type { ShelfForm } from '../shelf.ts'

export const LEASES: ShelfForm<Lease> = {
  kind: 'lease',
  item: Lease,
  // A record has a `scope` of its own, and means something else by it.
  toRecord: ({ lease_id: id, status, taken_at: created_at, scope: covers, note, ...fields }) => ({
    ...{ id, status, agent_id: fields.identity, created_at },
    fields: { ...fields, covers, ...(note === undefined ? {} : { note }) },
  }),
  fromRecord: ({ id: lease_id, status, created_at: taken_at, fields: { covers: scope, ...fields } }) => ({
    ...fields,
    ...{ lease_id, status, taken_at, scope },
  }),
}

/** One that is over has no record any more. */
const STANDING = 'active'

export const BLOCKINGS: ShelfForm<Blocking> = {
  kind: 'blocking',
  item: Blocking,
  toRecord: ({ blocking_id: id, since: created_at, ...fields }) => ({
    ...{ id, status: STANDING, agent_id: fields.blocker, created_at, fields },
  }),
  fromRecord: ({ id: blocking_id, created_at: since, fields }) => ({ ...fields, blocking_id, since }),
}

export const SUBSCRIPTIONS: ShelfForm<Subscription> = {
  kind: 'subscription',
  item: Subscription,
  toRecord: ({ subscription_id: id, since: created_at, ...fields }) => ({
    ...{ id, status: STANDING, agent_id: fields.identity, created_at, fields },
  }),
  fromRecord: ({ id: subscription_id, created_at: since, fields }) => ({ ...fields, subscription_id, since }),
}
