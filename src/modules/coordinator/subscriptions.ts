/** Which persona gets what is broadcast on which topic. Lasts as long as the persona acts. */
import type { Subscription } from '../../contracts/coordination.ts'
import { TurnbellError } from '../../contracts/errors.ts'
import type { Identity } from '../../contracts/ids.ts'
import { LIMITS } from '../../contracts/limits.ts'
import { timestamp, type Clock } from '../../ports/clock.ts'
import type { Ids } from '../../ports/random.ts'
import type { Shelf } from '../shelf.ts'
import { createTurns } from '../turns.ts'
import { Unsure } from '../unsure.ts'

export interface Subscriptions {
  /** Subscribing again changes nothing. Throws `limit_reached`. */
  subscribe(identity: Identity, topic: string): Promise<Subscription>
  /** False where there was nothing to end. */
  unsubscribe(identity: Identity, topic: string): Promise<boolean>
  personaEnded(identity: Identity): Promise<void>
  /** In the order in which they were made. */
  list(): Subscription[]
  subscribers(topic: string): Identity[]
}

export async function openSubscriptions(needs: {
  shelf: Shelf<Subscription>
  clock: Clock
  ids: Ids
}): Promise<Subscriptions> {
  const { shelf, clock, ids } = needs
  const inTurn = createTurns()
  const topics = new Map<string, Map<Identity, Subscription>>()
  const unsure = new Unsure<Subscription>()
  const all = () => [...topics.values()].flatMap((of_topic) => [...of_topic.values()])
  const add = (subscription: Subscription) => {
    const { topic, identity } = subscription
    const of_topic = topics.get(topic) ?? new Map<Identity, Subscription>()
    topics.set(topic, of_topic.set(identity, subscription))
  }
  const end = async (subscription: Subscription) => {
    const { subscription_id, topic, identity } = subscription
    await unsure.settle(keyOf(identity, topic), subscription, () => shelf.remove(subscription_id))
    const of_topic = topics.get(topic)
    of_topic?.delete(identity)
    if (of_topic?.size === 0) topics.delete(topic)
  }
  for (const subscription of await shelf.list()) add(subscription)

  return {
    subscribe: (identity, topic) =>
      inTurn(async () => {
        const key = keyOf(identity, topic)
        const before = topics.get(topic)?.get(identity)
        if (before !== undefined && !unsure.has(key)) return before
        const others = [...all(), ...unsure.values()].flatMap((one) =>
          one.identity === identity && one.topic !== topic ? [one.topic] : [],
        )
        if (new Set(others).size >= LIMITS.topics_per_persona_max) {
          throw new TurnbellError('limit_reached', {
            detail: `${identity} listens to ${LIMITS.topics_per_persona_max} topics, which is the most it may.`,
            hint: 'Unsubscribe from one first.',
          })
        }
        const fresh = { subscription_id: ids.next(), identity, topic, since: timestamp(clock) }
        const subscription = unsure.get(key) ?? fresh
        await unsure.settle(key, subscription, () => shelf.put(subscription))
        add(subscription)
        return subscription
      }),
    unsubscribe: (identity, topic) =>
      inTurn(async () => {
        const standing = topics.get(topic)?.get(identity)
        const ended = standing ?? unsure.get(keyOf(identity, topic))
        if (ended !== undefined) await end(ended)
        return standing !== undefined
      }),
    personaEnded: (identity) =>
      inTurn(async () => {
        for (const one of [...all(), ...unsure.values()]) if (one.identity === identity) await end(one)
      }),
    list: () => all().sort((a, b) => (a.subscription_id < b.subscription_id ? -1 : 1)),
    subscribers: (topic) => [...(topics.get(topic)?.keys() ?? [])],
  }
}

/** No identity has a space. */
function keyOf(identity: Identity, topic: string): string {
  return `${identity} ${topic}`
}
