/**
 * `surface.sock`: where shims attach, report turns and are rung.
 *
 * A push shim is attached from its first report until its connection ends, but for the time in which it
 * says that nobody is there. Several form a stack: the newest that has a session is the surface, and when
 * it goes the one before is again. One without a session stands behind all that have one. A pull shim comes
 * for one report at a time and is the surface only while no push shim is there, for what rings reaches it
 * only when it asks.
 */
import { RingResult, SurfaceReport, SurfaceStatus } from '../contracts/control.ts'
import type { Doorbell } from '../contracts/doorbell.ts'
import { describeIssues, TurnbellError } from '../contracts/errors.ts'
import { LIMITS } from '../contracts/limits.ts'
import type { Clock, Timer } from '../ports/clock.ts'
import type { Log } from '../ports/log.ts'
import type { RpcHandlers, RpcPeer } from '../ports/rpc.ts'

export interface SurfaceEvents {
  /**
   * A report of the active surface, by the shim of the one before or by another; all hooks count as one. `answer` is called
   * once, sooner or later. Returns the request's name.
   */
  onReport(report: SurfaceReport, same_shim: boolean, answer: (doorbell: Doorbell | null) => void): number
  /** The one who waited for this answer has hung up. */
  onAbandoned(request: number): void
  /** No shim is attached any more. */
  onLost(): void
}

export interface SurfaceSocket {
  /** For each connection: what answers it. */
  handlersFor(peer: RpcPeer): RpcHandlers
  /** Rings the active push shim. Never rejects: a failure is a proof. */
  ring(doorbell: Doorbell): Promise<RingResult>
  /**
   * Asks the active push shim for its status, which is told as a report first. Resolves with whether it still holds a
   * bell; null where there is nobody to ask, or no answer in time. Never rejects.
   */
  holdsBell(): Promise<boolean | null>
  /** Drops the attachment and binds the shim that is there anew. False when there is nobody to bind. */
  resume(): boolean
  /** Whether any shim is connected, even one that has not reported. */
  isThere(): boolean
  /** From here on nothing is told any more. */
  close(): void
}

interface Shim {
  peer: RpcPeer
  /** Null until it has reported: connected, but not a surface yet. */
  status: SurfaceStatus | null
  /** Requests of the active surface that wait for their answers. */
  open: Set<number>
}

export function createSurfaceSocket(
  clock: Pick<Clock, 'after'>,
  log: Log,
  events: SurfaceEvents,
): SurfaceSocket {
  /** In the order in which they attached. */
  let shims: Shim[] = []
  let pull: { timer: Timer } | null = null
  /** Whose report was told last. */
  let told: Shim | 'hooks' | null = null
  let closed = false

  const attached = () =>
    shims.findLast((shim) => isHere(shim) && shim.status?.session_id !== null) ?? shims.findLast(isHere)

  function onReport(shim: Shim, report: SurfaceReport): Promise<Doorbell | null> {
    if (report.delivery === 'pull') return onPull(shim, report)
    const was = attached()
    const came = !isHere(shim) && report.absent !== true
    shim.status = statusOf(report)
    if (came) {
      // Newest by its first report, not by its connection: until then it was nothing.
      shims = [...shims.filter((other) => other !== shim), shim]
      forgetPull()
      log.info({ surface: report.surface, session_id: report.session_id }, 'a surface attached')
    }
    if (attached() === shim) return tell(shim, report)
    if (was === shim) {
      // It has lost its session, and another has one; or nobody is there any more.
      if (!isHere(shim)) letGo(shim)
      activateNext()
    }
    return Promise.resolve(null)
  }

  function onPull(shim: Shim, report: SurfaceReport): Promise<Doorbell | null> {
    // A stray hook must not mute a shim that can be rung at any time.
    if (attached() !== undefined) return Promise.resolve(null)
    forgetPull()
    pull = { timer: clock.after(LIMITS.pull_attachment_ms, onPullGone) }
    return tell(shim, report)
  }

  function onPullGone(): void {
    pull = null
    if (!closed) events.onLost()
  }

  function forgetPull(): void {
    pull?.timer.cancel()
    pull = null
  }

  function tell(shim: Shim, report: SurfaceReport): Promise<Doorbell | null> {
    const who = report.delivery === 'pull' ? 'hooks' : shim
    const same_shim = told === who
    told = who
    return new Promise((resolve) => {
      let request: number | null = null
      let answered = false
      const named = events.onReport(report, same_shim, (doorbell) => {
        answered = true
        if (request !== null) shim.open.delete(request)
        resolve(doorbell)
      })
      // It may have been answered within the call.
      request = named
      if (!answered) shim.open.add(named)
    })
  }

  function onClose(shim: Shim): void {
    if (closed) return
    const was = attached()
    shims = shims.filter((other) => other !== shim)
    if (was !== shim) return abandon(shim)
    letGo(shim)
    activateNext()
  }

  function letGo(shim: Shim): void {
    abandon(shim)
    log.info({}, 'the surface has gone')
  }

  function abandon(shim: Shim): void {
    for (const request of shim.open) events.onAbandoned(request)
    shim.open.clear()
  }

  /** The shim before is the surface again: from what it last said at once, then from what it says now. */
  function activateNext(): void {
    const next = attached()
    if (next === undefined) return events.onLost()
    if (next.status !== null) void tell(next, next.status)
    probe(next)
  }

  /** One that does not answer is let go; its connection's end then brings up the next. */
  function probe(shim: Shim): void {
    shim.peer.request('status', {}, LIMITS.shim_answer_ms).then(
      (result) => {
        const parsed = SurfaceStatus.safeParse(result)
        if (!parsed.success) return dropShim(shim, describeIssues(parsed.error, 'status'))
        if (!closed && shims.includes(shim)) void onReport(shim, parsed.data)
      },
      (error: unknown) => dropShim(shim, String(error)),
    )
  }

  function dropShim(shim: Shim, detail: string): void {
    if (closed || !shims.includes(shim)) return
    log.warn({ detail }, 'a shim did not say its status and was let go')
    shim.peer.close()
    onClose(shim)
  }

  return {
    handlersFor(peer) {
      const shim: Shim = { peer, status: null, open: new Set() }
      shims = [shim, ...shims]
      return {
        onRequest(method, params) {
          if (closed) throw new TurnbellError('daemon_unreachable', { detail: 'the daemon is stopping' })
          if (method !== 'status') {
            throw new TurnbellError('unknown_verb', {
              detail: `${JSON.stringify(method.slice(0, 64))} is not answered here`,
              hint: 'A shim reports with status; notify_surface and resume_surface are for the daemon to ask.',
            })
          }
          const report = SurfaceReport.safeParse(params)
          if (!report.success) {
            throw new TurnbellError('params_invalid', { detail: describeIssues(report.error, 'params') })
          }
          return onReport(shim, report.data).then((doorbell) => ({ doorbell }))
        },
        onClose: () => onClose(shim),
        onBug: (error, instance) => log.error({ err: error, instance }, 'a report broke'),
      }
    },
    async ring(doorbell) {
      const shim = attached()
      if (shim === undefined) return { accepted: false, proof: 'unavailable' }
      try {
        const result = await shim.peer.request('notify_surface', { doorbell }, LIMITS.shim_answer_ms)
        const parsed = RingResult.safeParse(result)
        if (parsed.success) return parsed.data
        log.warn({ detail: describeIssues(parsed.error, 'result') }, 'a shim answered a bell with nonsense')
      } catch (error) {
        log.warn({ detail: String(error) }, 'a bell did not reach its shim')
      }
      return { accepted: false, proof: 'failed' }
    },
    async holdsBell() {
      const shim = attached()
      if (shim === undefined) return null
      try {
        const result = await shim.peer.request('status', {}, LIMITS.shim_answer_ms)
        const parsed = SurfaceStatus.safeParse(result)
        if (!parsed.success) throw new Error(describeIssues(parsed.error, 'status'))
        if (closed || !shims.includes(shim)) return null
        void onReport(shim, parsed.data)
        return attached() === shim ? parsed.data.outstanding_doorbell_id !== undefined : null
      } catch (error) {
        log.warn({ detail: String(error) }, 'shim did not answer a status probe')
        return null
      }
    },
    resume() {
      const shim = attached() ?? shims[0]
      const pulled = pull !== null
      forgetPull()
      if (shim === undefined) return pulled
      shim.peer.request('resume_surface', {}, LIMITS.shim_answer_ms).then(
        () => probe(shim),
        (error: unknown) => dropShim(shim, String(error)),
      )
      return true
    },
    isThere: () => shims.length > 0,
    close() {
      closed = true
      forgetPull()
    },
  }
}

function isHere({ status }: Shim): boolean {
  return status !== null && status.absent !== true
}

function statusOf({ take: _, ...status }: SurfaceReport): SurfaceStatus {
  return status
}
