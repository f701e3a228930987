/**
 * A hub that restarts itself when its disk recovers. After a failed write or sync a hub rejects every change and reports
 * the reason; once the disk is writable again the hub is composed again on the same port. To clients this is a restart,
 * and no accepted change is lost.
 */
import type { Config } from '../contracts/config.ts'
import { TurnbellError } from '../contracts/errors/errors.ts'
import { pause } from '../ports/pause.ts'
import { composeHub, type ComposedHub, type CompositionNeeds } from './composition.ts'

/** Retry interval while the disk is still full or read-only, or another process has the port. */
const RETRY_MS = 10_000

/** Address and token stay the same across restarts. */
export interface RecoverableHub extends Pick<ComposedHub, 'url' | 'ids' | 'operator_token'> {
  /** The running hub; null during a restart. */
  current: () => ComposedHub | null
  /** Waits for running work and a restart in progress, then closes everything. */
  stop(): Promise<void>
}

export interface RecoverableHubNeeds extends Omit<CompositionNeeds, 'onWritable' | 'onEnd'> {
  /** The hub must be stopped: it lost its home, was asked to yield, or a restart failed. */
  onEnd: (why: 'lost' | 'yielded' | 'failed') => void
}

/** @throws TurnbellError of `composeHub` at the first start. If a later start fails, `onEnd` is called with `failed`. */
export async function startRecoverableHub(needs: RecoverableHubNeeds): Promise<RecoverableHub> {
  const { clock, logs, onEnd } = needs
  const { log } = logs
  const abort = new AbortController()
  let current: ComposedHub | null = null
  let is_writable_again = false
  let restarting: Promise<void> | null = null
  let stopped: Promise<void> | null = null
  let last_config = needs.config

  const readConfig = () => (last_config = needs.readConfig())

  function compose(options: Pick<CompositionNeeds, 'config' | 'repair'>): Promise<ComposedHub> {
    // It was about the store of an attempt that failed.
    is_writable_again = false
    const onWritable = () => {
      is_writable_again = true
      restartIfDue()
    }
    return composeHub({ ...needs, ...options, readConfig, onWritable })
  }

  function restartIfDue(): void {
    if (!is_writable_again || current === null || abort.signal.aborted) return
    is_writable_again = false
    const former = current
    current = null
    restarting = restart(former)
      .catch((err: unknown) => {
        log.error({ err }, 'hub restart failed')
        onEnd('failed')
      })
      .finally(() => {
        restarting = null
        // The store may have failed and recovered before the hub was complete.
        restartIfDue()
      })
  }

  async function restart(former: ComposedHub): Promise<void> {
    log.warn({}, 'disk is writable again; restarting the hub')
    await former.stop().catch((err: unknown) => log.error({ err }, 'previous hub did not stop cleanly'))
    while (!abort.signal.aborted && current === null) {
      try {
        // Damage that appeared since the first start was caused by this disk; the --repair of that start does not cover it.
        current = await compose({ config: configOfRestart(former), repair: false })
      } catch (err) {
        if (!isTransient(err) || abort.signal.aborted) throw err
        log.error({ err }, 'hub restart failed; retrying')
        await pause(clock, RETRY_MS, abort.signal)
      }
    }
  }

  /** Returns the newest readable configuration with the tenant, plugins, store and address of the first start. */
  function configOfRestart({ url }: ComposedHub): Config {
    const { tenant_id, plugins, hub } = needs.config
    // A port that the first start picked is kept, because clients know it.
    const port = hub.port === undefined || hub.port === 0 ? Number(new URL(url).port) : hub.port
    try {
      readConfig()
    } catch (err) {
      log.warn({ err }, 'configuration not readable; keeping the previous one')
    }
    return { ...last_config, tenant_id, plugins, hub: { ...hub, port } }
  }

  async function stop(): Promise<void> {
    abort.abort()
    await restarting
    await current?.stop()
  }

  const { url, ids, operator_token } = (current = await compose(needs))
  restartIfDue()
  return { url, ids, operator_token, current: () => current, stop: () => (stopped ??= stop()) }
}

/** Errors that may end without a restart of this process: a full or read-only disk, a home without permission, a used port. */
const TRANSIENT: readonly string[] = ['store_unavailable', 'home_not_permitted', 'bind_failed']

function isTransient(error: unknown): boolean {
  return error instanceof TurnbellError && TRANSIENT.includes(error.code)
}
