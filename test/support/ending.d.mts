export interface Ending {
  removes(path: string): string
  keeps(path: string): void
  onInterrupt(act: () => void | Promise<unknown>): void
}

export function createEnding(): Ending
