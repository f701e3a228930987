/**
 * `surface.sock`: shims attach here, report turns and are rung.
 *
 * A push shim is attached from its first report until its connection closes, except while it reports that its
 * agent is absent. Several shims form a stack: the newest one with a session is the active surface, and when
 * it closes the previous one is active again. Shims without a session rank below all shims with one. A pull
 * shim connects for one report at a time and is active only while no push shim is attached, because it
 * receives doorbells only in responses.
 */
import { RingResult, SurfaceReport, SurfaceStatus } from '../contracts/control.ts'
import type { Doorbell } from '../contracts/doorbell.ts'
import { describeIssues, TurnbellError } from '../contracts/errors/errors.ts'
import { LIMITS } from '../contracts/limits/limits.ts'
import type { Clock, Timer } from '../ports/clock.ts'
import type { Log } from '../ports/log.ts'
import type { RpcHandlers, RpcParams, RpcPeer } from '../ports/rpc.ts'

export interface SurfaceEvents {
  /**
   * A report of the active surface. `same_shim`: the previous report came from the same shim; all hooks count
   * as one. `answer` is called once, possibly later. Returns the id of the request.
   */
  onReport(report: SurfaceReport, same_shim: boolean, answer: (doorbell: Doorbell | null) => void): number
  /** The client that waited for this response has disconnected. */
  onAbandoned(request: number): void
  /** No shim is attached any more. */
  onLost(): void
}

export interface SurfaceSocket {
  /** Returns the handlers for a new connection. */
  handlersFor(peer: RpcPeer): RpcHandlers
  /** Rings the active push shim. Never rejects: a failure is returned as a proof. */
  ring(doorbell: Doorbell): Promise<RingResult>
  /**
   * Requests the status of the active push shim, which is first forwarded as a report. Resolves with whether
   * the shim still holds a doorbell; null if there is no shim or no response in time. Never rejects.
   */
  holdsBell(): Promise<boolean | null>
  /**
   * Drops an attachment by hooks and binds the connected shim again. Returns false if there was no such attachment and
   * no shim is connected.
   */
  resume(): boolean
  /** Whether any shim is connected, including one that has not reported. */
  hasConnection(): boolean
  /** Stops forwarding events. */
  close(): void
}

interface Shim {
  peer: RpcPeer
  /** Null until the first report: connected, but not attached yet. */
  status: SurfaceStatus | null
  /** Requests of the active surface that wait for a response. */
  open: Set<number>
}

export function createSurfaceSocket(
  clock: Pick<Clock, 'after'>,
  log: Log,
  events: SurfaceEvents,
): SurfaceSocket {
  const stack: ShimStack = {
    shims: [],
    closed: false,
    forward: createForwarder(events),
    pull: createPullAttachment(clock, () => {
      if (!stack.closed) events.onLost()
    }),
    log,
    events,
  }
  return {
    handlersFor(peer) {
      const shim: Shim = { peer, status: null, open: new Set() }
      stack.shims = [shim, ...stack.shims]
      return {
        onRequest(method, params) {
          if (stack.closed)
            throw new TurnbellError('daemon_unreachable', { detail: 'the daemon is stopping' })
          return onReport(stack, shim, parseReport(method, params)).then((doorbell) => ({ doorbell }))
        },
        onClose: () => remove(stack, shim),
        onBug: (error, instance) => log.error({ err: error, instance }, 'surface report failed'),
      }
    },
    async ring(doorbell) {
      const shim = activeShim(stack)
      return shim === undefined
        ? { accepted: false, proof: 'unavailable' }
        : ringShim(shim.peer, doorbell, log)
    },
    async holdsBell() {
      const shim = activeShim(stack)
      if (shim === undefined) return null
      try {
        const result = await shim.peer.request('status', {}, LIMITS.shim_answer_ms)
        const parsed = SurfaceStatus.safeParse(result)
        if (!parsed.success) throw new Error(describeIssues(parsed.error, 'status'))
        if (stack.closed || !stack.shims.includes(shim)) return null
        void onReport(stack, shim, parsed.data)
        return activeShim(stack) === shim ? parsed.data.outstanding_doorbell_id !== undefined : null
      } catch (error) {
        log.warn({ detail: String(error) }, 'shim status probe failed')
        return null
      }
    },
    resume() {
      const shim = activeShim(stack) ?? stack.shims[0]
      const was_pulled = stack.pull.cancel()
      if (shim === undefined) return was_pulled
      shim.peer.request('resume_surface', {}, LIMITS.shim_answer_ms).then(
        () => probe(stack, shim),
        (error: unknown) => drop(stack, shim, String(error)),
      )
      return true
    },
    hasConnection: () => stack.shims.length > 0,
    close() {
      stack.closed = true
      stack.pull.cancel()
    },
  }
}

interface ShimStack {
  /** Connected shims: those that never attached, newest first, then the others in order of attachment. */
  shims: Shim[]
  closed: boolean
  /** Forwards a report of the active surface; resolves with the response. */
  forward: (shim: Shim, report: SurfaceReport) => Promise<Doorbell | null>
  pull: PullAttachment
  log: Log
  events: SurfaceEvents
}

function activeShim({ shims }: ShimStack): Shim | undefined {
  return (
    shims.findLast((shim) => isPresent(shim) && shim.status?.session_id !== null) ?? shims.findLast(isPresent)
  )
}

function onReport(stack: ShimStack, shim: Shim, report: SurfaceReport): Promise<Doorbell | null> {
  if (report.delivery === 'pull') return onPull(stack, shim, report)
  const was = activeShim(stack)
  const attaches = !isPresent(shim) && report.absent !== true
  shim.status = statusOf(report)
  if (attaches) {
    // Attachment starts with the first report and not with the connection.
    stack.shims = [...stack.shims.filter((other) => other !== shim), shim]
    stack.pull.cancel()
    stack.log.info({ surface: report.surface, session_id: report.session_id }, 'surface attached')
  }
  if (activeShim(stack) === shim) return stack.forward(shim, report)
  if (was === shim) {
    // The shim lost its session while another shim has one, or its agent is absent.
    if (!isPresent(shim)) detach(stack, shim)
    activateNext(stack)
  }
  return Promise.resolve(null)
}

function onPull(stack: ShimStack, shim: Shim, report: SurfaceReport): Promise<Doorbell | null> {
  // A stray hook must not mute a shim that can be rung at any time.
  if (activeShim(stack) !== undefined) return Promise.resolve(null)
  stack.pull.renew()
  return stack.forward(shim, report)
}

function remove(stack: ShimStack, shim: Shim): void {
  if (stack.closed) return
  const was = activeShim(stack)
  stack.shims = stack.shims.filter((other) => other !== shim)
  if (was !== shim) return abandon(stack, shim)
  detach(stack, shim)
  activateNext(stack)
}

function detach(stack: ShimStack, shim: Shim): void {
  abandon(stack, shim)
  stack.log.info({}, 'surface detached')
}

function abandon({ events }: ShimStack, shim: Shim): void {
  for (const request of shim.open) events.onAbandoned(request)
  shim.open.clear()
}

/** Activates the next shim. Turns may have passed since its last report, so its turn is unknown until it responds. */
function activateNext(stack: ShimStack): void {
  const next = activeShim(stack)
  if (next === undefined) return stack.events.onLost()
  if (next.status !== null) void stack.forward(next, { ...next.status, turn: 'unknown' })
  probe(stack, next)
}

/** Requests the shim's status. A shim that does not respond is disconnected, which activates the next one. */
function probe(stack: ShimStack, shim: Shim): void {
  shim.peer.request('status', {}, LIMITS.shim_answer_ms).then(
    (result) => {
      const parsed = SurfaceStatus.safeParse(result)
      if (!parsed.success) return drop(stack, shim, describeIssues(parsed.error, 'status'))
      if (!stack.closed && stack.shims.includes(shim)) void onReport(stack, shim, parsed.data)
    },
    (error: unknown) => drop(stack, shim, String(error)),
  )
}

function drop(stack: ShimStack, shim: Shim, detail: string): void {
  if (stack.closed || !stack.shims.includes(shim)) return
  stack.log.warn({ detail }, 'shim disconnected: no valid status')
  shim.peer.close()
  remove(stack, shim)
}

/** Returns a function that forwards reports of the active surface and resolves with the response. */
function createForwarder(events: SurfaceEvents): ShimStack['forward'] {
  let last_reporter: Shim | 'hooks' | null = null
  return (shim, report) => {
    const reporter = report.delivery === 'pull' ? 'hooks' : shim
    const same_shim = last_reporter === reporter
    last_reporter = reporter
    return new Promise((resolve) => {
      let request: number | null = null
      let answered = false
      const request_id = events.onReport(report, same_shim, (doorbell) => {
        answered = true
        if (request !== null) shim.open.delete(request)
        resolve(doorbell)
      })
      // The response may have been given during the call.
      request = request_id
      if (!answered) shim.open.add(request_id)
    })
  }
}

/** Attachment by hooks, which ends `pull_attachment_ms` after the last report. */
interface PullAttachment {
  renew(): void
  /** Returns whether hooks were attached. */
  cancel(): boolean
}

function createPullAttachment(clock: Pick<Clock, 'after'>, onExpired: () => void): PullAttachment {
  let timer: Timer | null = null
  const cancel = (): boolean => {
    const was_attached = timer !== null
    timer?.cancel()
    timer = null
    return was_attached
  }
  return {
    cancel,
    renew() {
      cancel()
      timer = clock.after(LIMITS.pull_attachment_ms, () => {
        timer = null
        onExpired()
      })
    },
  }
}

function isPresent({ status }: Shim): boolean {
  return status !== null && status.absent !== true
}

function statusOf({ take: _, ...status }: SurfaceReport): SurfaceStatus {
  return status
}

function parseReport(method: string, params: RpcParams): SurfaceReport {
  if (method !== 'status') {
    throw new TurnbellError('unknown_verb', {
      detail: `${JSON.stringify(method.slice(0, 64))} is not supported on surface.sock`,
      hint: 'Send `status` to report a turn; `notify_surface` and `resume_surface` are requests of the daemon.',
    })
  }
  const report = SurfaceReport.safeParse(params)
  if (report.success) return report.data
  throw new TurnbellError('params_invalid', { detail: describeIssues(report.error, 'params') })
}

async function ringShim(peer: RpcPeer, doorbell: Doorbell, log: Log): Promise<RingResult> {
  try {
    const result = await peer.request('notify_surface', { doorbell }, LIMITS.shim_answer_ms)
    const parsed = RingResult.safeParse(result)
    if (parsed.success) return parsed.data
    const detail = describeIssues(parsed.error, 'result')
    log.warn({ detail }, 'shim sent an invalid response to a doorbell')
  } catch (error) {
    log.warn({ detail: String(error) }, 'doorbell not delivered to the shim')
  }
  return { accepted: false, proof: 'failed' }
}
