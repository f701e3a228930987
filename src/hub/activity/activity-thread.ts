/**
 * The module `activity` in a thread of its own, so that its queries and writes never delay a signal. The thread starts with
 * the first call. A thread that ended is started again by a later call.
 */
import { TurnbellError } from '../../contracts/errors/errors.ts'
import type { Activity } from '../../modules/activity/types.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Log } from '../../ports/log.ts'
import type { ActivityMethod, ThreadError, ThreadMessage, ThreadRequest } from './thread-messages.ts'

/** Minimum time between two starts of the thread. */
const RESTART_MS = 5_000

/** A running thread. */
export interface ActivityThread {
  post(request: ThreadRequest): void
  end(): Promise<void>
}

/** Starts a thread; `onEnd` is called once, also if it never ran. */
export type StartThread = (on: {
  onMessage: (message: ThreadMessage) => void
  onEnd: (error: Error) => void
}) => ActivityThread

export interface ActivityThreadDeps {
  start: StartThread
  clock: Pick<Clock, 'monotonic'>
  log: Log
}

interface Waiting {
  resolve: (result: unknown) => void
  reject: (error: Error) => void
}

const METHODS: Record<ActivityMethod, true> = {
  ingest: true,
  ingestHook: true,
  hierarchy: true,
  projects: true,
  project: true,
  sessions: true,
  session: true,
  requests: true,
  tasks: true,
  subtasks: true,
  actions: true,
  active: true,
  hourly: true,
  toolsSummary: true,
  kpis: true,
  stats: true,
  cleanupStats: true,
  completeness: true,
  logAction: true,
  putRequest: true,
  putTask: true,
  putSubtask: true,
  endSession: true,
  deleteSession: true,
  deleteProject: true,
  deleteActions: true,
  openProcesses: true,
  processesEnded: true,
  cleanUp: true,
  close: true,
}

export function createActivityThread(deps: ActivityThreadDeps): Activity {
  const calls = createCalls(deps)
  const methods = Object.keys(METHODS).map((method) => [
    method,
    (input: unknown) => calls.call(method as ActivityMethod, input),
  ])
  return { ...(Object.fromEntries(methods) as unknown as Activity), close: () => calls.close() }
}

function createCalls({ start, clock, log }: ActivityThreadDeps) {
  const waiting = new Map<number, Waiting>()
  let thread: ActivityThread | null = null
  let started_at = -Infinity
  let next_id = 1
  let closed = false

  function onMessage(message: ThreadMessage): void {
    if ('log' in message) return log[message.log](message.fields, message.message)
    const one = waiting.get(message.id)
    waiting.delete(message.id)
    if ('error' in message) one?.reject(toError(message.error))
    else one?.resolve(message.result)
  }

  function onEnd(error: Error): void {
    thread = null
    if (!closed) log.error({ err: error }, 'activity thread ended')
    for (const one of waiting.values()) one.reject(unavailable(error.message))
    waiting.clear()
  }

  /** Returns null if it ended a moment ago. */
  function running(): ActivityThread | null {
    if (thread !== null || closed || clock.monotonic() - started_at < RESTART_MS) return thread
    started_at = clock.monotonic()
    return (thread = start({ onMessage, onEnd }))
  }

  function call(method: ActivityMethod, input: unknown): Promise<unknown> {
    return new Promise((resolve, reject) => {
      const to = running()
      if (to === null) return reject(unavailable('its thread has ended'))
      const id = next_id++
      waiting.set(id, { resolve, reject })
      to.post({ id, method, input })
    })
  }

  return {
    call,
    /** Waits for what was written, then ends the thread. */
    async close(): Promise<void> {
      if (closed) return
      closed = true
      if (thread === null) return
      await call('close', {}).catch((err: unknown) =>
        log.warn({ err }, 'activity database not closed cleanly'),
      )
      await thread?.end()
    },
  }
}

function unavailable(why: string): TurnbellError {
  return new TurnbellError('store_unavailable', { detail: `The activity database cannot be used: ${why}` })
}

function toError(error: ThreadError): Error {
  if (error.code === null)
    return Object.assign(new Error('the activity thread failed'), { stack: error.stack })
  return new TurnbellError(error.code, { detail: error.detail, hint: error.hint })
}
