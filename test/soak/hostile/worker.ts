/** The attacker in a separate thread, so that its work does not slow down the measurements. */
import { parentPort, workerData } from 'node:worker_threads'
import { attack } from './attacker.ts'
import type { Target } from './attacks.ts'

const over = new AbortController()
parentPort?.once('message', () => over.abort())
const { target, attacks } = workerData as { target: Target; attacks: readonly string[] }
void attack(target, over.signal, attacks).then((strikes) => {
  parentPort?.postMessage(strikes)
  process.exit(0)
})
