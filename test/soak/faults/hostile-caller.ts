/** A caller with a valid token that attacks the hub now and then, from its own thread. */
import { Worker } from 'node:worker_threads'
import { setTimeout as pause } from 'node:timers/promises'
import type { Strikes } from '../hostile/attacker.ts'
import type { Target } from '../hostile/attacks.ts'

const STOP_MS_MAX = 20_000

export class HostileCaller {
  /** Number of executions of each attack. */
  readonly strikes: Strikes = {}
  private readonly worker: string
  private readonly target: Target

  /** `worker` is the bundle of `hostile/worker.ts`. */
  constructor(worker: string, target: Target) {
    this.worker = worker
    this.target = target
  }

  /** Attacks until the returned function is called; `attacks` are names. */
  strike(attacks: readonly string[]): () => Promise<void> {
    const attacker = new Worker(this.worker, { workerData: { target: this.target, attacks } })
    const struck = new Promise<Strikes>((resolve, reject) => {
      attacker.once('message', resolve)
      attacker.once('error', reject)
    })
    // The rejection is handled when the attack is stopped.
    struck.catch(() => undefined)
    return async () => {
      attacker.postMessage('over')
      const timeout = new AbortController()
      const late = pause(STOP_MS_MAX, {}, { signal: timeout.signal }).catch(() => ({}))
      const strikes = await Promise.race([struck, late])
      timeout.abort()
      await attacker.terminate()
      for (const [name, count] of Object.entries(strikes))
        this.strikes[name] = (this.strikes[name] ?? 0) + count
    }
  }
}
