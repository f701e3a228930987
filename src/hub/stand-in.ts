/** A hub inside another process, for as long as none of its own is there. */
import type { Config } from '../contracts/config.ts'
import { TurnbellError } from '../contracts/errors.ts'
import { FACADES } from '../facades/all.ts'
import { composeHub, type ComposedHub, type CompositionNeeds } from './composition.ts'
import { openHubLogs } from './logs.ts'
import type { Embedded } from '../transports/bridge/stand-in.ts'

export interface StandInOptions extends Pick<CompositionNeeds, 'home' | 'readConfig' | 'clock' | 'env'> {
  /** It is over: another hub takes the place, or has taken the home. */
  onEnd: () => void
}

/**
 * Resolves once it answers. It has the home's lock and its port, or another where that one is taken, so
 * everybody else of this home finds it as they find any hub.
 *
 * @throws TurnbellError `already_running`, and what else keeps a hub from starting.
 */
export async function standIn(options: StandInOptions): Promise<Embedded> {
  const { home, readConfig, clock, env } = options
  const config = readConfig()
  const logs = openHubLogs(home, config.log.level, clock)
  let composed: ComposedHub | null = null
  let asked = false
  let ending: Promise<void> | null = null
  let stopping: Promise<void> | null = null
  // The newcomer, the lost lock and the bridge itself may all ask, and each more than once.
  const stop = () => (stopping ??= (composed?.stop() ?? Promise.resolve()).finally(() => logs.close()))
  const end = () => {
    asked = true
    if (composed === null) return
    ending ??= stop()
      .catch((error: unknown) => logs.log.error({ err: error }, 'the hub that stood in did not end well'))
      .finally(options.onEnd)
  }
  try {
    composed = await withAnyPort(config, (possible) =>
      composeHub({
        ...{ home, config: possible, readConfig, logs, clock, env, facades: FACADES },
        stands_in: true,
        onEnd: end,
        // The bridge becomes one anew with the next call that finds none.
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
