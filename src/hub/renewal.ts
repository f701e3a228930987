/**
 * The hub of a process that lasts longer than its stores do: where a write or sync failed, the hub refuses every change
 * and says why; once the disk takes writes again it is put together anew, at the same port. To everybody else that is a
 * restart, and nothing that was accepted is lost by it.
 */
import type { Config } from '../contracts/config.ts'
import { TurnbellError } from '../contracts/errors.ts'
import { composeHub, type ComposedHub, type CompositionNeeds } from './composition.ts'

/** The disk is full again before the hub is there: so long until the next try. */
const NEXT_TRY_MS = 10_000

/** Its address and token stay what they are. */
export interface RenewedHub extends Pick<ComposedHub, 'url' | 'ids' | 'operator_token'> {
  /** The one that runs now; null while it is put together anew. */
  current: () => ComposedHub | null
  /** Lets what runs come to its end, and closes everything. Asked while it is put together, it waits for that. */
  stop(): Promise<void>
}

/** @throws TurnbellError what `composeHub` refuses. Where that happens later, `onEnd` is told `failed`. */
export async function startRenewed(needs: RenewalNeeds): Promise<RenewedHub> {
  const {
    clock,
    logs: { log },
    onEnd,
  } = needs
  let current: ComposedHub | null = null
  let writable = false
  let renewing: Promise<void> | null = null
  let stopping: Promise<void> | null = null
  let endWait = () => {}

  const compose = (config: Config) =>
    composeHub({
      ...needs,
      config,
      onWritable() {
        writable = true
        renewIfDue()
      },
    })
  const renewIfDue = () => {
    if (!writable || current === null || stopping !== null) return
    writable = false
    const former = current
    current = null
    renewing = renew(former)
      .catch((err: unknown) => {
        log.error({ err }, 'the hub could not begin anew')
        onEnd('failed')
      })
      .finally(() => (renewing = null))
  }
  const renew = async (former: ComposedHub) => {
    log.warn({}, 'the disk takes writes again; the hub begins anew')
    await former.stop()
    while (stopping === null && current === null) {
      try {
        current = await compose(atPortOf(former, configNow()))
      } catch (err) {
        if (!(err instanceof TurnbellError) || err.code !== 'store_unavailable') throw err
        log.error({ err }, 'the hub cannot begin anew yet')
        await new Promise<void>((resolve) => {
          endWait = resolve
          clock.after(NEXT_TRY_MS, resolve)
        })
      }
    }
  }
  const configNow = () => {
    try {
      return needs.readConfig()
    } catch (err) {
      log.warn({ err }, 'the configuration cannot be read; what it said before stays')
      return needs.config
    }
  }

  const { url, ids, operator_token } = (current = await compose(needs.config))
  renewIfDue()
  return {
    ...{ url, ids, operator_token },
    current: () => current,
    stop: () =>
      (stopping ??= (async () => {
        endWait()
        await renewing
        await current?.stop()
      })()),
  }
}

export interface RenewalNeeds extends Omit<CompositionNeeds, 'onWritable' | 'onEnd'> {
  /** It has lost its home, was asked to make room, or cannot be put together anew: stop it. */
  onEnd: (why: 'lost' | 'yielded' | 'failed') => void
}

/** Where any port was good enough, clients look for the one that was found. */
function atPortOf({ url }: ComposedHub, config: Config): Config {
  if (config.hub.port !== 0) return config
  return { ...config, hub: { ...config.hub, port: Number(new URL(url).port) } }
}
