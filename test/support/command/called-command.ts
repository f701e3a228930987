/** Calls a developer command in the process of the test. */
import { vi } from 'vitest'
import type { Ending } from './ending.mjs'

/** The ending of a command that is never interrupted and has nothing to remove. */
export const calmEnding: Ending = {
  interrupted: false,
  removes: (path) => path,
  keeps: () => undefined,
  onInterrupt: () => undefined,
  unlessInterrupted: (work) => work,
}

/** Makes process exit with 2 throw `ends with 2`, until mocks are restored. */
export function throwOnExit(): void {
  vi.spyOn(process, 'exit').mockImplementation((code) => {
    throw new Error(`ends with ${code}`)
  })
}
