export interface Ending {
  readonly interrupted: boolean
  removes(path: string): string
  keeps(path: string): void
  onInterrupt(act: () => void | Promise<unknown>): void
}

export function createEnding(): Ending
