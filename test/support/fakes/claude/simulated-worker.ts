/** One worker process of a simulated session: the product's own code between the client's pipe, its module, and the hub. */
import { claudeSurface, type ClaudeSurface } from '../../../../adapters/claude-code/claude-surface.ts'
import { deliveryPaths } from '../../../../adapters/claude-code/delivery-paths.ts'
import { createModLink, type ModLink } from '../../../../adapters/claude-code/mod-link/mod-link.ts'
import { createWorker, type HookOutput, type WorkerCall } from '../../../../adapters/claude-code/worker.ts'
import type { Drain } from '../../../../adapters/claude-code/unconfirmed-drains.ts'
import { silentLog } from '../../../../src/ports/log.ts'
import { pause as takes } from '../../../../src/ports/pause.ts'
import type { DeliveryPath } from '../../../../src/ports/delivery-path.ts'
import type { SurfaceHost } from '../../../../src/ports/surface.ts'
import type { FakeClock } from '../fake-clock.ts'
import type { SimulatedDrains } from './simulated-drains.ts'

export interface WorkerWorld {
  clock: FakeClock
  drains: SimulatedDrains
  host: SurfaceHost
  inbox: DeliveryPath
  session_id: string
  newEpoch: () => string
  /** Time until the hub has a request. */
  hub_ms: () => number
}

export interface SimulatedWorker {
  readonly alive: boolean
  readonly surface: ClaudeSurface
  readonly link: ModLink
  /** Resolves with the output of a hook. */
  hook(call: WorkerCall): Promise<HookOutput>
  /** Resolves when the drain's result is in the client's pipe, and with null if the call was cancelled before. */
  drain(call: WorkerCall): Promise<Drain | null>
  /** Calls when the process has ended. */
  onEnd(call: () => void): void
  kill(): void
}

export function startWorker(world: WorkerWorld, respawned: boolean): SimulatedWorker {
  const { clock, drains, host } = world
  let alive = true
  const atEnd: (() => void)[] = []
  const hub = hubRequests(world, () => alive)
  const link: ModLink = createModLink({
    ...{ version: '1.2.3', enabled: true, newEpoch: world.newEpoch, clock, log: silentLog },
    onAttached: (hello) => surface.modAttached(hello),
    onEvent: (event, of) => surface.modEvent(event, of),
    onDropped: () => surface.modDropped(),
    onLost: () => surface.modLost(),
  })
  const surface: ClaudeSurface = claudeSurface({
    ...{ session_id: world.session_id, mod: link, clock, log: silentLog, degraded: silentLog, respawned },
    paths: deliveryPaths([world.inbox], silentLog),
    onInterrupted: () => worker.interrupted(),
    drainsReleased: () => worker.drainsReleased(),
    isStopped: () => false,
  })
  const worker = createWorker({
    surface,
    drains: {
      confirm: (drain_id) => alive && drains.confirm(drain_id),
      release: (signal_ids) => hub.send(() => drains.release(signal_ids)),
      settled: hub.settled,
    },
    ...{ clock, respawned, log: silentLog },
  })

  async function open(): Promise<void> {
    const session_id = surface.session() as string
    hub.send(() => drains.releaseOrphaned(session_id))
    await hub.settled()
    if (!alive) return
    surface.open(host)
    void host.report(await surface.status())
  }
  void open()

  return {
    get alive() {
      return alive
    },
    surface,
    link,
    async hook(call) {
      const output = await worker.answer(call)
      if (alive) worker.answerWritten(call)
      return output ?? {}
    },
    async drain(call) {
      await worker.answer(call)
      const session_id = surface.session() as string
      await hub.settled()
      await takes(clock, world.hub_ms())
      // The hub releases a drain whose request was broken.
      if (!alive || call.signal.aborted) return null
      const drain = drains.open(session_id)
      worker.drainWritten(call, drain)
      return drain
    },
    onEnd: (call) => void atEnd.push(call),
    kill() {
      alive = false
      link.close()
      surface.close()
      for (const call of atEnd) call()
    },
  }
}

/** Requests to the hub, one after the other. */
function hubRequests({ clock, hub_ms }: WorkerWorld, alive: () => boolean) {
  let last = Promise.resolve()
  return {
    send(step: () => void): void {
      last = last.then(() => takes(clock, hub_ms())).then(() => void (alive() && step()))
    },
    settled: () => last,
  }
}
