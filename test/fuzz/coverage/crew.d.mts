/** What `main.ts` is told before its first target, beside the counters that the crew gives each thread. */
export interface CrewSettings {
  seed: number
  ways: number
  only: Uint8Array | null
  corpus: string
  home: string
}

export interface CrewNeeds {
  file: string | URL
  settings: CrewSettings
  threads: number
  names: readonly string[]
  inputs: number
  minutes: number
  hang_ms: number
  sources: boolean
  report: {
    target(done: { name: string; inputs: number }): void
    unfinished(name: string, inputs: number): void
    crash(target: { name: string }, input: Uint8Array, error: string, alone: boolean): void
  }
}

export function createCrew(needs: CrewNeeds): {
  ended: Promise<string | null>
  stop: () => Promise<void>
}
