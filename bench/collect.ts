/** Triggers garbage collection over IPC in a process that runs with `--expose-gc`. */
import { once } from 'node:events'
import { pause, type Started } from './processes.ts'

const PASSES = 4
/** Wait for pages that are released in the background. */
const PASS_MS = 150

/**
 * Fixes the size of the young generation, whose pages are all touched in advance. Otherwise its growth would count as
 * retained memory, and only in a process that had done little before.
 */
export const STEADY_HEAP = ['--expose-gc', '--min-semi-space-size=16', '--max-semi-space-size=16']
const FILL_BYTES = 128 * 1024 * 1024
const FILLER = 100

export function collectWhenTold(): void {
  // Stored for a moment, because V8 would otherwise optimise the allocation away.
  const garbage: number[][] = []
  process.on('message', () => {
    for (let made = 0; made < FILL_BYTES; made += FILLER * 8)
      garbage[0] = new Array<number>(FILLER).fill(made)
    garbage.length = 0
    globalThis.gc?.()
    process.send?.('collected')
  })
}

/** Resolves when that process has had time to release unneeded memory. */
export async function collect({ child }: Pick<Started, 'child'>): Promise<void> {
  for (let pass = 0; pass < PASSES; pass += 1) {
    child.send('collect')
    await once(child, 'message')
    await pause(PASS_MS)
  }
}
