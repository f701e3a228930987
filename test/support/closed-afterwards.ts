/** Closes what a test opened after the test, in reverse order. */
import { afterEach } from 'vitest'

export interface Closable {
  close(): Promise<void>
}

/** Call once per file; every test pushes the objects that it opens. */
export function closedAfterwards(): Closable[] {
  const open: Closable[] = []
  afterEach(async () => {
    for (const one of open.splice(0).reverse()) await one.close()
  })
  return open
}
