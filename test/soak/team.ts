/**
 * The state of the team as reported by the product: each daemon at its control socket, each signal in the operator's
 * view.
 */
import fs from 'node:fs'
import type { DaemonStatus } from '../../src/contracts/control.ts'
import { LIMITS } from '../../src/contracts/limits/limits.ts'
import type { SignalView } from '../../src/contracts/signal.ts'
import { personaPaths, type Home } from '../../src/system/config/home.ts'
import { connectLocally } from '../../src/system/ipc/unix-socket.ts'
import type { Door } from './door.ts'

export interface TeamWorld {
  home: Home
  names: readonly string[]
  /** Personas without daemons that also receive signals. */
  others: readonly string[]
  door: Door
  operatorToken: () => string
  /** The environment of the daemons. */
  env: Record<string, string>
}

const ANSWER_MS = 10_000

export class Team {
  private readonly world: TeamWorld

  constructor(world: TeamWorld) {
    this.world = world
  }

  paths(name: string) {
    return personaPaths(this.world.home, 'local', name, { ...process.env, ...this.world.env })
  }

  /** Returns the personas without a connected surface and an empty queue. */
  async notReady(): Promise<string[]> {
    const troubles = await Promise.all(
      this.world.names.map(async (name) => {
        const status = await this.status(name)
        const well = status?.connected === true && status.surface.attached && status.pending_count === 0
        return well ? [] : [`${name}: ${JSON.stringify(status)}`]
      }),
    )
    return troubles.flat()
  }

  /** Returns the missing files by which clients find the processes. */
  missing(): string[] {
    const { home, names } = this.world
    const files = names.flatMap((name) => {
      const { daemon_pid, daemon_lock, metrics_file } = this.paths(name)
      return [daemon_pid, daemon_lock, metrics_file]
    })
    return [home.hub_pid, home.hub_lock, ...files].filter((file) => !fs.existsSync(file))
  }

  private async status(name: string): Promise<DaemonStatus | null> {
    const peer = await connectLocally(this.paths(name).control_socket).catch(() => null)
    if (peer === null) return null
    try {
      return (await peer.request('status', {}, ANSWER_MS)) as unknown as DaemonStatus
    } catch {
      return null
    } finally {
      peer.close()
    }
  }

  /** Returns every signal of the hub in the operator's view. */
  async views(): Promise<Map<string, SignalView>> {
    const views = new Map<string, SignalView>()
    for (const to of [...this.world.names, ...this.world.others]) {
      for (let before_seq: number | undefined; ;) {
        const params = {
          to,
          limit: LIMITS.inbox_limit_max,
          ...(before_seq === undefined ? {} : { before_seq }),
        }
        const page = await this.world.door.act<{ signals: SignalView[]; next: number | null }>({
          ...{ facade: 'signals', action: 'inbox', params, token: this.world.operatorToken() },
        })
        for (const view of page.signals) views.set(view.signal_id, view)
        if (page.next === null) break
        before_seq = page.next
      }
    }
    return views
  }
}
