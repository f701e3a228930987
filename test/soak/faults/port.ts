/** Returns a port for a hub that restarts at the same one. */
import { isFree } from '../../../src/system/ipc/free-port.ts'

/** Below the ephemeral port range, because an outgoing connection could take such a port while the hub is down. */
const [FIRST, LAST] = [15_000, 30_000]

export async function portBelowOutgoing(): Promise<number> {
  for (;;) {
    const port = FIRST + Math.floor(Math.random() * (LAST - FIRST))
    if (await isFree(port)) return port
  }
}
