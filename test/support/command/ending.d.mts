export interface Ending {
  readonly interrupted: boolean
  removes(path: string): string
  keeps(path: string): void
  onInterrupt(act: () => void | Promise<unknown>): void
  unlessInterrupted<T>(work: Promise<T>): Promise<T>
}

export function createEnding(): Ending
