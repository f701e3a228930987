/**
 * Records what the agent does in the thread that acts for the persona: follows the binding of the surface, and reads the same
 * messages of the app-server. Messages of other threads are ignored. Nothing here throws or delays the surface.
 *
 * A thread cannot be subscribed to before its first turn, and a shim may have been replaced during one. So after each
 * subscription the newest turns are read, and messages that arrive before the answer are handled after it.
 */
import { ActivityMessage, isActivityMethod, ThreadFacts, TurnsPage, word, type Turn } from './messages.ts'
import { recordedSession, type RecordedSessionDeps } from './recorded-session.ts'
import { threadActivity, type ThreadActivity } from './thread-activity.ts'
import type { AppServer } from '../app-server.ts'
import type { Thread } from '../protocol.ts'
import type { ServerKind } from '../thread-search.ts'
import type { Identity, InstanceId } from '../../../src/contracts/ids.ts'
import { LIMITS } from '../../../src/contracts/limits/limits.ts'
import type { Clock } from '../../../src/ports/clock.ts'
import type { Log } from '../../../src/ports/log.ts'

/** How a thread was bound. */
export interface BoundTo {
  server_kind: ServerKind
  /** Process of the app-server. */
  instance_id: InstanceId | null
}

export interface ActivityFeed {
  /** A message of an app-server, before the surface handles it. */
  message(message: object, server_kind: ServerKind): void
  /** The surface is bound to a thread whose app-server reports it. */
  bound(thread: Thread, to: BoundTo): void
  /** The surface is bound to a thread of which only hooks report. */
  boundByHooks(thread_id: string): void
  /** The surface subscribes to its thread; `subscribed` resolves with whether that succeeded, and never rejects. */
  subscribing(server: Pick<AppServer, 'call'>, subscribed: Promise<boolean>): void
  disconnected(server_kind: ServerKind): void
  /** The shim ends. `stopped` is the app-server that it has stopped. */
  close(stopped: ServerKind | null): void
}

export interface ActivityFeedDeps extends RecordedSessionDeps {
  identity: Identity
  /** Whether a process has ended. */
  isGone: (instance_id: InstanceId) => boolean
  clock: Pick<Clock, 'now' | 'after'>
}

/** The thread that is recorded. */
interface Followed {
  thread_id: string
  instance_id: InstanceId | null
  server_kind: ServerKind
  activity: ThreadActivity
  /** When the session's thread was bound, perhaps by another shim. */
  since_ms: number
  gate: MessageGate
}

export function createActivityFeed(deps: ActivityFeedDeps): ActivityFeed {
  const { clock, own_log, log } = deps
  const session = recordedSession(deps)
  let followed: Followed | null = null
  const isFollowed = (of: Followed) => followed === of && session.current()?.session_id === of.thread_id

  function follow(thread: Thread, { server_kind, instance_id }: BoundTo): void {
    const before = followed !== null && isFollowed(followed) ? followed : null
    const { turn, since_ms } = session.begin(thread, instance_id)
    if (before !== null && isFollowed(before) && before.instance_id === instance_id) {
      before.server_kind = server_kind
      return
    }
    const { model } = ThreadFacts.parse(thread)
    const activity = threadActivity({
      ...{ identity: deps.identity, thread_id: thread.id, model: model ? word(model) : undefined, log },
      recorded: turn,
      onTurn: (newest) => session.turnRecorded(newest),
    })
    const gate = messageGate((message) => safely(own_log, () => handle(of, message)))
    const of: Followed = {
      thread_id: thread.id,
      instance_id,
      server_kind,
      activity,
      gate,
      since_ms,
    }
    followed = of
  }

  function handle(of: Followed, message: ActivityMessage): void {
    if (!isFollowed(of)) return
    if (message.method !== 'thread/closed') of.activity.handle(message)
    else if (message.params.threadId === of.thread_id) session.end('closed')
  }

  async function catchUp(of: Followed, server: Pick<AppServer, 'call'>, subscribed: Promise<boolean>) {
    const turns = (await subscribed) ? await readTurns(server, of, own_log) : []
    for (const turn of turns) if (isFollowed(of)) safely(own_log, () => of.activity.catchUp(turn))
  }

  function endIfGone(instance_id: InstanceId): void {
    if (session.current()?.instance_id === instance_id && deps.isGone(instance_id)) session.end('exit')
  }

  return {
    message(message, server_kind) {
      if (followed?.server_kind !== server_kind || !isOfActivity(message)) return
      const { data, error } = ActivityMessage.safeParse(message)
      if (data !== undefined) followed.gate.pass(data)
      else own_log.debug({ issues: error?.issues }, 'message of the app-server not recorded')
    },
    bound: (thread, to) => safely(own_log, () => follow(thread, to)),
    boundByHooks(thread_id) {
      if (session.current()?.session_id !== thread_id) safely(own_log, () => session.end('other_thread'))
    },
    subscribing(server, subscribed) {
      const of = followed
      if (of !== null) void of.gate.closeDuring(catchUp(of, server, subscribed))
    },
    disconnected(server_kind) {
      const instance_id = followed?.instance_id ?? null
      if (followed?.server_kind !== server_kind || instance_id === null) return
      safely(own_log, () => endIfGone(instance_id))
      // A process that ends closes its connections first.
      clock.after(LIMITS.codex_alive_look_ms, () => safely(own_log, () => endIfGone(instance_id)))
    },
    close(stopped) {
      const is_stopped = stopped !== null && followed?.server_kind === stopped && isFollowed(followed)
      if (is_stopped) safely(own_log, () => session.end('exit'))
    },
  }
}

/** Number of turns that are read after a subscription. */
const TURNS_READ_MAX = 10

/** Returns the turns of which something may not be recorded, oldest first; none if they cannot be read. */
async function readTurns(
  server: Pick<AppServer, 'call'>,
  { thread_id, activity, since_ms }: Followed,
  own_log: Log,
): Promise<Turn[]> {
  const params = { threadId: thread_id, limit: TURNS_READ_MAX, sortDirection: 'desc', itemsView: 'full' }
  try {
    const { data } = await server.call('thread/turns/list', params, TurnsPage)
    const turns = data.toReversed()
    if (activity.recorded() !== null) return turns
    // What ended before the thread was bound is not recorded. The times are in whole seconds.
    return turns.filter(({ completedAt }) => completedAt == null || completedAt * 1000 + 999 >= since_ms)
  } catch (error) {
    own_log.debug({ err: error, thread_id }, 'turns of the thread could not be read')
    return []
  }
}

interface MessageGate {
  pass(message: ActivityMessage): void
  /** Messages wait until this has resolved, but not more than `codex_buffered_notifications_max`. */
  closeDuring(reading: Promise<void>): Promise<void>
}

function messageGate(handle: (message: ActivityMessage) => void): MessageGate {
  let readings = 0
  const held: ActivityMessage[] = []

  function release(): void {
    for (const message of held.splice(0)) handle(message)
  }

  return {
    pass(message) {
      if (readings === 0) return handle(message)
      held.push(message)
      if (held.length > LIMITS.codex_buffered_notifications_max) release()
    },
    async closeDuring(reading) {
      readings += 1
      await reading
      readings -= 1
      if (readings === 0) release()
    },
  }
}

function safely(own_log: Log, run: () => void): void {
  try {
    run()
  } catch (error) {
    own_log.warn({ err: error }, 'activity not recorded')
  }
}

function isOfActivity(message: object): boolean {
  return 'method' in message && typeof message.method === 'string' && isActivityMethod(message.method)
}
