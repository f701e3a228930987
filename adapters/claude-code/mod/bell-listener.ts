/** Waits for the worker's doorbells and views. Submits the doorbells one after the other. */
import type { SubmittedBell } from './bell-submitter.ts'
import type { Screen } from './screen.ts'
import type { WorkerClient } from './worker-client.ts'

export interface BellListenerDeps {
  client: WorkerClient
  ring: (bell: SubmittedBell) => Promise<void>
  screen: Pick<Screen, 'show'>
  attached: () => boolean
  /** The worker did not answer, or does not know the epoch. */
  failed: () => void
}

/** Returns a function to call whenever the module is attached. */
export function bellListener({
  client,
  ring,
  screen,
  attached,
  failed,
}: BellListenerDeps): () => Promise<void> {
  /** Epoch of the loop; a loop of a former epoch ends when its request does. */
  let epoch: string | null = null
  return async () => {
    const own = client.epoch()
    if (epoch === own) return
    epoch = own
    const current = () => epoch === own && attached()
    try {
      while (current()) {
        const { bell, view } = await client.wait()
        if (view !== undefined) screen.show(view)
        if (bell !== undefined) await ring(bell)
      }
    } catch {
      if (current()) {
        client.disconnect()
        failed()
      }
    }
    if (epoch === own) epoch = null
  }
}
