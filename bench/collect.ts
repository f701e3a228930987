/** Garbage collection on demand, over IPC; for a process that runs with `--expose-gc`. */
import { once } from 'node:events'
import { pause, type Started } from './processes.ts'

const PASSES = 4
/** For pages that are given back in the background. */
const PASS_MS = 150

/**
 * With a young generation of one size, whose every page was in use: what it grows by in the meantime would be told
 * as what is kept, and only of a process that had done little before.
 */
export const STEADY_HEAP = ['--expose-gc', '--min-semi-space-size=16', '--max-semi-space-size=16']
const FILL_BYTES = 128 * 1024 * 1024
const FILLER = 100

export function collectWhenTold(): void {
  // Kept for a moment, or it would not be made.
  const garbage: number[][] = []
  process.on('message', () => {
    for (let made = 0; made < FILL_BYTES; made += FILLER * 8)
      garbage[0] = new Array<number>(FILLER).fill(made)
    garbage.length = 0
    globalThis.gc?.()
    process.send?.('collected')
  })
}

/** Resolves when that process has had time to give back what it does not need. */
export async function collect({ child }: Pick<Started, 'child'>): Promise<void> {
  for (let pass = 0; pass < PASSES; pass += 1) {
    child.send('collect')
    await once(child, 'message')
    await pause(PASS_MS)
  }
}
