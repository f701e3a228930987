/**
 * Channels of the WebSocket: views of what happens, never the message of record. Of what happens nothing is kept
 * here: a client that was away reads the event stream or reconciles. What an agent listened to is, for its return.
 */
import { TurnbellError } from '../contracts/errors.ts'
import { HUB_EVENT_FAMILIES, type HubEvent } from '../contracts/events.ts'
import { CRITICAL_EVENTS, type HubFrameOf } from '../contracts/frames.ts'
import type { Json } from '../contracts/ids.ts'
import { LIMITS } from '../contracts/limits.ts'
import { KNOWN_RUN_EVENTS } from '../contracts/run-events.ts'
import { hearsAll, mayHear } from '../kernel/policy.ts'
import { timestamp, type Clock } from '../ports/clock.ts'
import type { Ids } from '../ports/random.ts'
import type { CriticalEvents } from './critical-events.ts'
import { createKeptChannels } from './kept-channels.ts'
import type { Link, Member } from './link.ts'

export interface Channels {
  /** Throws `kind_forbidden` or `limit_reached`. */
  subscribe(link: Link, channel: string): void
  unsubscribe(link: Link, channel: string): void
  /** Its session has come back: it listens again to what it did before, as far as there is room beside what it asks for now. */
  restore(link: Link): void
  /** Throws `kind_forbidden`, and `params_invalid` for an event of the hub's own. Answers the event's id. */
  publish(link: Link, channel: string, event: string, data: Json): string
  /** From the hub itself. */
  announce(channels: readonly string[], event: string, data: Json, at?: string): void
  /** Mirrors the event stream: on `global`, and on the channels of whom it is about. */
  mirror(event: HubEvent): void
  subscribers(channel: string): ReadonlySet<Link>
  forget(link: Link): void
}

export function createChannels(needs: { clock: Clock; ids: Ids; critical: CriticalEvents }): Channels {
  const { clock, ids, critical } = needs
  const channels = new Map<string, Set<Link>>()
  const none: ReadonlySet<Link> = new Set()
  const kept = createKeptChannels({ clock })

  const announce = (
    names: readonly string[],
    event: string,
    data: Json,
    at = timestamp(clock),
    sees: (member: Member) => boolean = () => true,
  ): string => {
    let id: string | null = null
    const told = new Set<Link>()
    for (const channel of names) {
      let text: string | null = null
      for (const link of channels.get(channel) ?? none) {
        // Somebody on two channels hears of one event once.
        if (told.has(link) || link.member === null || !sees(link.member)) continue
        told.add(link)
        id ??= ids.next()
        text ??= JSON.stringify(eventFrame({ id, channel, event, data, timestamp: at }))
        link.sendText(text)
        if (isCritical(event)) critical.track(link, id, text)
      }
    }
    return id ?? ids.next()
  }

  const subscribe: Channels['subscribe'] = (link, channel) => {
    const member = link.member as Member
    if (!maySubscribe(member, channel)) {
      throw new TurnbellError('kind_forbidden', {
        detail: `The ${member.kind} of ${member.identity} may not listen to ${channel}.`,
        hint: 'An agent or daemon listens to global, topics, and its own agents/ and sessions/ channel.',
      })
    }
    const own = (link.channels ??= new Set())
    if (!own.has(channel) && isFull(link)) {
      throw new TurnbellError('limit_reached', {
        detail: `A link subscribes to at most ${LIMITS.subscriptions_max} channels.`,
      })
    }
    own.add(channel)
    let links = channels.get(channel)
    if (!links) channels.set(channel, (links = new Set()))
    links.add(link)
  }

  return {
    subscribe,

    restore(link) {
      // The same who and the same session: what it might hear, it may.
      for (const channel of kept.take(link.member as Member)) {
        if (isFull(link)) return
        subscribe(link, channel)
      }
    },

    unsubscribe(link, channel) {
      link.channels?.delete(channel)
      leave(channels, link, channel)
    },

    publish(link, channel, event, data) {
      const member = link.member as Member
      if (!mayPublish(member, channel)) {
        throw new TurnbellError('kind_forbidden', {
          detail: `The ${member.kind} of ${member.identity} may not publish to ${channel}.`,
          hint: 'To reach another persona, send it a signal: `signals send` keeps it until it is drained.',
        })
      }
      if (isHubsOwn(event)) {
        throw new TurnbellError('params_invalid', {
          detail: `event: ${event} is a name under which only the hub itself speaks`,
          hint: 'Choose a name that begins otherwise, like build.done; to log in a run, call `vector log_event`.',
        })
      }
      // Whoever listens to everything hears what is published on a single channel, too.
      return announce(channel === 'global' ? ['global'] : [channel, 'global'], event, data)
    },

    announce: (names, event, data, at) => void announce(names, event, data, at),

    mirror(happened) {
      if (channels.size === 0) return
      const { type, agent_id, data, timestamp: at, seq } = happened
      const session = typeof data['session_id'] === 'string' ? data['session_id'] : null
      const about = [
        ...(agent_id === null ? [] : [`agents/${agent_id}`]),
        ...(session === null ? [] : [`sessions/${session}`]),
      ]
      const body = { ...data, seq, agent_id }
      announce([...about, 'global'], type, body, at, ({ caller }) => mayHear(caller, happened))
    },

    subscribers: (channel) => channels.get(channel) ?? none,

    forget(link) {
      for (const channel of link.channels ?? []) leave(channels, link, channel)
      if (link.member !== null && link.channels !== null) kept.keep(link.member, link.channels)
      link.channels = null
      critical.forget(link)
    },
  }
}

const isFull = ({ channels }: Link) => channels !== null && channels.size >= LIMITS.subscriptions_max

function eventFrame(event: Omit<HubFrameOf<'event'>, 'type'>): HubFrameOf<'event'> {
  return { type: 'event', ...event }
}

function leave(channels: Map<string, Set<Link>>, link: Link, channel: string): void {
  const links = channels.get(channel)
  links?.delete(link)
  if (links?.size === 0) channels.delete(channel)
}

function isHubsOwn(event: string): boolean {
  return HUB_EVENT_FAMILIES.includes(event.split('.', 1)[0] ?? '') || KNOWN_RUN_EVENTS.includes(event)
}

function isCritical(event: string): boolean {
  return CRITICAL_EVENTS.some((beginning) => event.startsWith(beginning))
}

function maySubscribe(member: Member, channel: string): boolean {
  if (hearsAll(member.caller)) return true
  return (
    channel === 'global' ||
    channel.startsWith('topics/') ||
    channel === `agents/${member.identity}` ||
    channel === `sessions/${member.session_id}`
  )
}

function mayPublish(member: Member, channel: string): boolean {
  if (channel === 'metrics') return false
  if (member.caller.kind === 'operator') return true
  return member.kind === 'agent' && maySubscribe(member, channel)
}
