/** Subscriptions of personas to broadcast topics. They end when the persona is wrapped or removed. */
import type { Subscription } from '../../contracts/coordination.ts'
import { TurnbellError } from '../../contracts/errors/errors.ts'
import type { Identity } from '../../contracts/ids.ts'
import { LIMITS } from '../../contracts/limits/limits.ts'
import { timestamp, type Clock } from '../../ports/clock.ts'
import type { Ids } from '../../ports/random.ts'
import type { TypedRecords } from '../lib/typed-records.ts'
import { createSerialQueue } from '../../ports/serial-queue.ts'
import { UncertainWrites } from '../lib/uncertain-writes.ts'

export interface Subscriptions {
  /** Subscribing again changes nothing. Throws `limit_reached`. */
  subscribe(identity: Identity, topic: string): Promise<Subscription>
  /** Returns false where the persona was not subscribed. */
  unsubscribe(identity: Identity, topic: string): Promise<boolean>
  personaEnded(identity: Identity): Promise<void>
  /** Oldest first. */
  list(): Subscription[]
  subscribers(topic: string): Identity[]
}

export async function openSubscriptions({
  records,
  clock,
  ids,
}: {
  records: TypedRecords<Subscription>
  clock: Clock
  ids: Ids
}): Promise<Subscriptions> {
  const enqueue = createSerialQueue()
  const topics = new Map<string, Map<Identity, Subscription>>()
  const uncertain = new UncertainWrites<Subscription>()
  const all = () => [...topics.values()].flatMap((of_topic) => [...of_topic.values()])
  const add = (subscription: Subscription) => {
    const { topic, identity } = subscription
    const of_topic = topics.get(topic) ?? new Map<Identity, Subscription>()
    topics.set(topic, of_topic.set(identity, subscription))
  }
  const end = async (subscription: Subscription) => {
    const { subscription_id, topic, identity } = subscription
    await uncertain.settle(keyOf(identity, topic), subscription, () => records.remove(subscription_id))
    const of_topic = topics.get(topic)
    of_topic?.delete(identity)
    if (of_topic?.size === 0) topics.delete(topic)
  }
  for (const subscription of await records.list()) add(subscription)

  return {
    subscribe: (identity, topic) =>
      enqueue(async () => {
        const key = keyOf(identity, topic)
        const before = topics.get(topic)?.get(identity)
        if (before !== undefined && !uncertain.has(key)) return before
        const others = [...all(), ...uncertain.values()].flatMap((one) =>
          one.identity === identity && one.topic !== topic ? [one.topic] : [],
        )
        if (new Set(others).size >= LIMITS.topics_per_persona_max) {
          throw new TurnbellError('limit_reached', {
            detail: `${identity} is subscribed to ${LIMITS.topics_per_persona_max} topics, the maximum.`,
            hint: 'Unsubscribe from one of them.',
          })
        }
        const created = { subscription_id: ids.next(), identity, topic, since: timestamp(clock) }
        const subscription = uncertain.get(key) ?? created
        await uncertain.settle(key, subscription, () => records.put(subscription))
        add(subscription)
        return subscription
      }),
    unsubscribe: (identity, topic) =>
      enqueue(async () => {
        const active = topics.get(topic)?.get(identity)
        const subscription = active ?? uncertain.get(keyOf(identity, topic))
        if (subscription !== undefined) await end(subscription)
        return active !== undefined
      }),
    personaEnded: (identity) =>
      enqueue(async () => {
        for (const one of [...all(), ...uncertain.values()]) if (one.identity === identity) await end(one)
      }),
    list: () => all().sort((a, b) => (a.subscription_id < b.subscription_id ? -1 : 1)),
    subscribers: (topic) => [...(topics.get(topic)?.keys() ?? [])],
  }
}

/** Identities contain no space. */
function keyOf(identity: Identity, topic: string): string {
  return `${identity} ${topic}`
}
