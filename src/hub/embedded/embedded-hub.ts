/** A hub inside the process of a bridge, used while no hub process is running. */
import type { Config } from '../../contracts/config.ts'
import { TurnbellError } from '../../contracts/errors/errors.ts'
import { FACADES } from '../../facades/all.ts'
import { composeHub, type ComposedHub, type CompositionNeeds } from '../composition.ts'
import { openHubLogs } from '../observability/logs.ts'
import type { EmbeddedHub } from '../../bridge/hub/fallback.ts'

export interface EmbeddedHubOptions extends Pick<CompositionNeeds, 'home' | 'readConfig' | 'clock' | 'env'> {
  /** The embedded hub has ended, because another hub asked for the home or has taken it. */
  onEnd: () => void
}

/**
 * Resolves once the hub accepts calls. It holds the home's lock and listens on the home's port, or on another one if that
 * is in use, so other processes of this home discover it like any hub.
 *
 * @throws TurnbellError `already_running`, and every error of a hub start.
 */
export async function startEmbeddedHub(options: EmbeddedHubOptions): Promise<EmbeddedHub> {
  const { home, readConfig, clock, env } = options
  const config = readConfig()
  const logs = openHubLogs(home, config.log.level, clock)
  let composed: ComposedHub | null = null
  let asked = false
  let ending: Promise<void> | null = null
  let stopping: Promise<void> | null = null
  // A starting hub, a lost lock and the bridge itself may each request the stop several times.
  const stop = () => (stopping ??= (composed?.stop() ?? Promise.resolve()).finally(() => logs.close()))
  const end = () => {
    asked = true
    if (composed === null) return
    ending ??= stop()
      .catch((error: unknown) => logs.log.error({ err: error }, 'embedded hub did not stop cleanly'))
      .finally(options.onEnd)
  }
  try {
    composed = await withAnyPort(config, (possible) =>
      composeHub({
        ...{ home, config: possible, readConfig, logs, clock, env, facades: FACADES },
        embedded: true,
        onEnd: end,
        // The next call that finds no hub embeds one again.
        onWritable: end,
      }),
    )
  } catch (error) {
    logs.close()
    throw error
  }
  if (asked) end()
  return { url: composed.url, call: composed.call, stop }
}

async function withAnyPort<T>(config: Config, act: (config: Config) => Promise<T>): Promise<T> {
  try {
    return await act(config)
  } catch (error) {
    if (!(error instanceof TurnbellError) || error.code !== 'bind_failed') throw error
    return act({ ...config, hub: { ...config.hub, port: 0 } })
  }
}
