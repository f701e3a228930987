/** Garbage collection on demand, by SIGUSR2; for a process that runs with `--expose-gc`. */
import { pause } from './processes.ts'

const PASSES = 4
/** For pages that are given back in the background, and for the process to get to its signal. */
const PASS_MS = 150

export function collectWhenTold(): void {
  process.on('SIGUSR2', () => globalThis.gc?.())
}

/** Resolves when that process has had time to give back what it does not need. */
export async function collect(pid: number): Promise<void> {
  for (let pass = 0; pass < PASSES; pass += 1) {
    process.kill(pid, 'SIGUSR2')
    await pause(PASS_MS)
  }
}
