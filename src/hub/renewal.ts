/**
 * The hub of a process that lasts longer than its stores do: where a write or sync failed, the hub refuses every change
 * and says why; once the disk takes writes again it is put together anew, at the same port. To everybody else that is a
 * restart, and nothing that was accepted is lost by it.
 */
import type { Config } from '../contracts/config.ts'
import { TurnbellError } from '../contracts/errors.ts'
import { composeHub, type ComposedHub, type CompositionNeeds } from './composition.ts'

/** The disk is full again, or somebody else has the port: so long until the next try. */
const NEXT_TRY_MS = 10_000

/** Its address and token stay what they are. */
export interface RenewedHub extends Pick<ComposedHub, 'url' | 'ids' | 'operator_token'> {
  /** The one that runs now; null while it is put together anew. */
  current: () => ComposedHub | null
  /** Lets what runs come to its end, and closes everything. Asked while it is put together, it waits for that. */
  stop(): Promise<void>
}

export interface RenewalNeeds extends Omit<CompositionNeeds, 'onWritable' | 'onEnd'> {
  /** It has lost its home, was asked to make room, or cannot be put together anew: stop it. */
  onEnd: (why: 'lost' | 'yielded' | 'failed') => void
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
  let last_read = needs.config

  const readConfig = () => (last_read = needs.readConfig())
  const compose = (more: Pick<CompositionNeeds, 'config' | 'repair'>) =>
    composeHub({
      ...needs,
      ...{ ...more, readConfig },
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
    await former.stop().catch((err: unknown) => log.error({ err }, 'the hub before it did not end cleanly'))
    while (stopping === null && current === null) {
      try {
        // What is damaged by now was damaged by this disk: whoever asked to repair has not seen it.
        current = await compose({ config: configAnew(former), repair: false })
      } catch (err) {
        if (!passes(err) || stopping !== null) throw err
        log.error({ err }, 'the hub cannot begin anew yet')
        await wait(NEXT_TRY_MS)
      }
    }
  }
  /** As it is by now, but for what makes it this hub: clients look for it where they found it, and for what it has kept. */
  const configAnew = ({ url }: ComposedHub): Config => {
    const { tenant_id, plugins, hub } = needs.config
    // Where any port was good enough, it is the one that was found.
    const port = hub.port === undefined || hub.port === 0 ? Number(new URL(url).port) : hub.port
    try {
      readConfig()
    } catch (err) {
      log.warn({ err }, 'the configuration cannot be read; what it said before stays')
    }
    return { ...last_read, tenant_id, plugins, hub: { ...hub, port } }
  }
  const wait = (delay_ms: number) =>
    new Promise<void>((resolve) => {
      const timer = clock.after(delay_ms, resolve)
      endWait = () => {
        timer.cancel()
        resolve()
      }
    })

  const { url, ids, operator_token } = (current = await compose(needs))
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

/** What somebody else may end. */
function passes(error: unknown): boolean {
  return error instanceof TurnbellError && ['store_unavailable', 'bind_failed'].includes(error.code)
}
