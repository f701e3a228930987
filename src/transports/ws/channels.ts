/**
 * WebSocket channels: live views of events. Events are not stored here: a client that was disconnected reads the event
 * stream or reconciles. The subscriptions of an agent are stored for its reconnect.
 */
import { TurnbellError } from '../../contracts/errors/errors.ts'
import { HUB_EVENT_FAMILIES, type HubEvent } from '../../contracts/events.ts'
import { CRITICAL_EVENTS, type HubFrameOf } from '../../contracts/frames.ts'
import type { Json } from '../../contracts/ids.ts'
import { LIMITS } from '../../contracts/limits/limits.ts'
import { KNOWN_RUN_EVENTS } from '../../contracts/runs/run-events.ts'
import { mayReadAllEvents, mayReadEvent } from '../../kernel/policy.ts'
import { timestamp, type Clock } from '../../ports/clock.ts'
import type { Ids } from '../../ports/random.ts'
import type { Redelivery } from './redelivery.ts'
import { createSessionSubscriptions } from './session-subscriptions.ts'
import { frameText, type Link, type Member } from './link.ts'

export interface Channels {
  /** Throws `kind_forbidden` or `limit_reached`. */
  subscribe(link: Link, channel: string): void
  unsubscribe(link: Link, channel: string): void
  /** Restores the subscriptions of a session that has reconnected, up to the limit; the new ones take precedence. */
  restore(link: Link): void
  /** Throws `kind_forbidden`, or `params_invalid` for an event name of the hub. Returns the event's id. */
  publish(link: Link, channel: string, event: string, data: Json): string
  /** Publishes an event of the hub. */
  announce(channels: readonly string[], event: string, data: Json, at?: string): void
  /** Publishes an event of the event stream on `global` and on the channels of its agent and session. */
  mirror(event: HubEvent): void
  subscribers(channel: string): ReadonlySet<Link>
  forget(link: Link): void
}

type Subscribers = Map<string, Set<Link>>
const NO_LINKS: ReadonlySet<Link> = new Set()

interface ChannelDeps {
  clock: Clock
  ids: Ids
  critical: Redelivery
}

interface Announcement {
  names: readonly string[]
  event: string
  data: Json
  at?: string | undefined
  /** Default: every member. */
  isVisible?: (member: Member) => boolean
}

export function createChannels(deps: ChannelDeps): Channels {
  const channels: Subscribers = new Map()
  const former = createSessionSubscriptions({ clock: deps.clock })

  return {
    subscribe: (link, channel) => subscribe(channels, link, channel),

    restore(link) {
      // Identity and session are the same, so the subscriptions are permitted.
      for (const channel of former.take(link.member as Member)) {
        if (isFull(link)) return
        subscribe(channels, link, channel)
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
          hint: 'To reach another persona, send it a signal: `signals send` stores it until it is drained.',
        })
      }
      if (isHubsOwn(event)) {
        throw new TurnbellError('params_invalid', {
          detail: `event: the name ${event} is reserved for events of the hub`,
          hint: 'Use another prefix, for example build.done; to log in a run, call `vector log_event`.',
        })
      }
      // Subscribers of `global` receive the events of every channel.
      const names = channel === 'global' ? ['global'] : [channel, 'global']
      return announce(channels, deps, { names, event, data })
    },

    announce: (names, event, data, at) => void announce(channels, deps, { names, event, data, at }),

    mirror(event) {
      if (channels.size === 0) return
      const { type, agent_id, data, timestamp: at, seq } = event
      const session = typeof data['session_id'] === 'string' ? data['session_id'] : null
      const names = [
        ...(agent_id === null ? [] : [`agents/${agent_id}`]),
        ...(session === null ? [] : [`sessions/${session}`]),
        'global',
      ]
      announce(channels, deps, {
        names,
        event: type,
        data: { ...data, seq, agent_id },
        at,
        isVisible: ({ caller }) => mayReadEvent(caller, event),
      })
    },

    subscribers: (channel) => channels.get(channel) ?? NO_LINKS,

    forget(link) {
      for (const channel of link.channels ?? []) leave(channels, link, channel)
      if (link.member !== null && link.channels !== null) former.keep(link.member, link.channels)
      link.channels = null
      deps.critical.forget(link)
    },
  }
}

function subscribe(channels: Subscribers, link: Link, channel: string): void {
  const member = link.member as Member
  if (!maySubscribe(member, channel)) {
    throw new TurnbellError('kind_forbidden', {
      detail: `The ${member.kind} of ${member.identity} may not subscribe to ${channel}.`,
      hint: 'An agent or daemon may subscribe to global, topics, and its own agents/ and sessions/ channel.',
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

/** Sends the event to each subscriber once, also if it subscribes to several of the channels. Returns the event's id. */
function announce(
  channels: Subscribers,
  { clock, ids, critical }: ChannelDeps,
  { names, event, data, at = timestamp(clock), isVisible = () => true }: Announcement,
): string {
  let id: string | null = null
  const receivers = new Set<Link>()
  for (const channel of names) {
    let textFor: ReturnType<typeof frameText> | null = null
    for (const link of channels.get(channel) ?? NO_LINKS) {
      if (receivers.has(link) || link.member === null || !isVisible(link.member)) continue
      receivers.add(link)
      id ??= ids.next()
      textFor ??= frameText(eventFrame({ id, channel, event, data, timestamp: at }))
      const text = textFor(link)
      link.sendText(text)
      if (isCritical(event)) critical.track(link, id, text)
    }
  }
  return id ?? ids.next()
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
  return CRITICAL_EVENTS.some((prefix) => event.startsWith(prefix))
}

function maySubscribe(member: Member, channel: string): boolean {
  if (mayReadAllEvents(member.caller)) return true
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
