/** Puts doorbells into the queue of the bound thread. */
import type { AppServer } from './app-server.ts'
import type { BellQueue } from './bell-queue.ts'
import type { BellRemoval } from './bell-removal.ts'
import type { BellWatch } from './bell-watch.ts'
import type { BoundThread } from './bound-thread.ts'
import { bellQueued, queueStarted, queueStopped, reportedTurn } from './thread-tracker.ts'
import { DEFERRED, FAILED, UNAVAILABLE } from '../surface-results.ts'
import type { RingResult } from '../../src/contracts/control.ts'
import type { Doorbell } from '../../src/contracts/doorbell.ts'
import type { Log } from '../../src/ports/log.ts'
import { createSerialQueue } from '../../src/ports/serial-queue.ts'

export interface BellRinger {
  /** Rings the thread, one ring at a time, because the daemon may ring again while the app-server is slow. */
  ring(doorbell: Doorbell): Promise<RingResult>
}

export interface BellRingerDeps {
  thread: BoundThread
  queue: BellQueue
  watch: BellWatch
  removal: BellRemoval
  log: Log
  /** Checks the clients and returns whether a window shows the bound thread. */
  checkShown: () => boolean
  /** Whether the thread is a kept one with no person attached, so that no user input would end a pause. */
  isUnattended: () => boolean
}

export function bellRinger(deps: BellRingerDeps): BellRinger {
  const { queue, watch, removal, log } = deps
  const { server, state, move } = deps.thread
  const enqueue = createSerialQueue()

  async function ring(doorbell: Doorbell): Promise<RingResult> {
    const is_shown = deps.checkShown()
    const [to, threadId] = [server(), state().thread_id]
    if (to === null || threadId === null || !is_shown) return UNAVAILABLE
    if (!isIdle(threadId)) return DEFERRED
    try {
      return await queueDoorbell(to, threadId, doorbell)
    } catch (error) {
      log.warn({ err: error }, 'doorbell could not be queued')
      return server() === to ? FAILED : UNAVAILABLE
    }
  }

  function isIdle(threadId: string): boolean {
    return reportedTurn(state()) === 'idle' && !state().paused && state().thread_id === threadId
  }

  /** @throws AppServerError */
  async function queueDoorbell(to: AppServer, threadId: string, doorbell: Doorbell): Promise<RingResult> {
    const { doorbell_id } = doorbell
    if (state().queued.length > 0) await watch.check()
    const withdrawn = await removal.withdrawFrom(to, threadId)
    if (!isIdle(threadId)) return DEFERRED
    // Codex has taken the doorbell from the queue, so its turn may be about to begin.
    if (state().queued.length > 0) return DEFERRED
    // A doorbell was still queued in an idle thread: the queue was paused before this process started or connected.
    const was_paused = withdrawn.length > 0 && deps.isUnattended()
    move(bellQueued(was_paused ? queueStopped(state()) : state(), doorbell_id))
    await queue.add(to, threadId, doorbell)
    if (state().queue_stopped && isIdle(threadId)) {
      await queue.start(to, threadId)
      move(queueStarted(state()))
    }
    if (state().seen_doorbell_id === doorbell_id) return { accepted: true, proof: 'confirmed' }
    if (!state().paused && state().thread_id === threadId) return { accepted: true, proof: 'sent' }
    // An interrupt or another binding withdrew doorbells before this one was queued.
    await removal.withdrawFrom(to, threadId)
    return DEFERRED
  }

  return {
    ring: (doorbell) => enqueue(() => ring(doorbell)),
  }
}
