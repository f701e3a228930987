/**
 * Keeps the module attached to the session's worker, which may start later, end and be replaced at any time. Nothing
 * here is awaited by a hook.
 */
import type { Timer } from '../../../src/ports/clock.ts'
import { bellListener } from './bell-listener.ts'
import type { EventQueue } from './event-queue.ts'
import type { SubmittedBell } from './bell-submitter.ts'
import { createHeartbeat } from './heartbeat.ts'
import type { Screen } from './screen.ts'
import type { WorkerClient } from './worker-client.ts'
import { CLAUDE_MODULE_LIMITS as LIMITS } from '../../../src/contracts/limits/claude-module.ts'

export interface WorkerLinkDeps {
  client: WorkerClient
  queue: EventQueue
  ring: (bell: SubmittedBell) => Promise<void>
  /** Cleared when the worker is away or replaced, because what it last sent is out of date. */
  screen: Pick<Screen, 'show' | 'clear'>
  /** Milliseconds. */
  now: () => number
  after: (delay_ms: number, call: () => void) => Timer
}

export interface WorkerLink {
  start: () => void
  /** Sends what waits if the worker is attached; otherwise the next attempt to attach sends it. */
  flush: () => void
  attached: () => boolean
  /** Sends what waits, and then nothing more. */
  end: () => void
}

export function createWorkerLink(deps: WorkerLinkDeps): WorkerLink {
  const { client, queue, screen, now, after } = deps
  let state: 'detached' | 'attached' | 'ending' | 'stopped' = 'detached'
  let working = false
  let retry: Timer | null = null
  let retry_ms: number = LIMITS.mod_retry_min_ms
  /** Epoch whose view the screen shows. */
  let shown: string | null = null
  const attached = () => state === 'attached'
  const heartbeat = createHeartbeat({ beat: () => flush(), now, after })
  const listen = bellListener({ ...deps, attached, failed: retryLater })

  function stop(): void {
    state = 'stopped'
    screen.clear()
    queue.close()
    retry?.cancel()
    heartbeat.stop()
  }

  function workAfter(delay_ms: number): void {
    if (state === 'ending' || state === 'stopped') return stop()
    state = 'detached'
    retry?.cancel()
    retry = after(delay_ms, () => void work())
  }

  /** The client ends a wait at Esc, so a failed wait alone does not clear the screen. */
  function retryLater(): void {
    workAfter(retry_ms)
    retry_ms = Math.min(retry_ms * 2, LIMITS.mod_retry_max_ms)
  }

  async function work(): Promise<void> {
    if (working || state === 'stopped') return
    working = true
    retry?.cancel()
    const delivery = await client.deliver().catch(() => 'failed' as const)
    working = false
    if (delivery !== 'on' || client.epoch() !== shown) screen.clear()
    if (delivery === 'failed') return retryLater()
    retry_ms = LIMITS.mod_retry_min_ms
    shown = client.epoch()
    if (delivery === 'on') return delivered()
    // Later events are reported to a worker that wants them.
    queue.close()
    if (delivery === 'protocol') workAfter(LIMITS.mod_protocol_retry_ms)
    else stop()
  }

  function delivered(): void {
    // An event that came while the last response was read.
    if (queue.waiting() > 0) return void work()
    if (state === 'ending' || state === 'stopped') return stop()
    state = 'attached'
    queue.open()
    heartbeat.sent()
    void listen()
  }

  function flush(): void {
    if (attached()) void work()
  }

  return {
    start: () => void work(),
    flush,
    attached,
    end() {
      if (!attached()) return stop()
      state = 'ending'
      void work()
    },
  }
}
