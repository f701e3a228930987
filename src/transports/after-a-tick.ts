/** Runs a call after one pass of Node's event loop. */
import { setImmediate as breathe } from 'node:timers/promises'
import { afterTicks } from '../ports/pause.ts'

const loop = { soon: (call: () => void) => void breathe().then(call) }

/** Calls `call` once the event loop has read everything that has arrived up to now. */
export function afterATick(call: () => void): void {
  afterTicks(loop, 2, call)
}
