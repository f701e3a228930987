/** A command for developers, called by a test in its own process. */
import { vi } from 'vitest'
import type { Ending } from './ending.mjs'

/** Of a command that nobody interrupts, and that leaves nothing to remove. */
export const calmEnding: Ending = {
  interrupted: false,
  removes: (path) => path,
  keeps: () => undefined,
  onInterrupt: () => undefined,
  unlessInterrupted: (work) => work,
}

/** Where it would end the process with 2, it throws `ends with 2`; until mocks are restored. */
export function throwOnExit(): void {
  vi.spyOn(process, 'exit').mockImplementation((code) => {
    throw new Error(`ends with ${code}`)
  })
}
