/** What a test opens is closed after it, the last thing first. */
import { afterEach } from 'vitest'

export interface Closable {
  close(): Promise<void>
}

/** For a whole file; every test pushes what it opens. */
export function closedAfterwards(): Closable[] {
  const open: Closable[] = []
  afterEach(async () => {
    for (const one of open.splice(0).reverse()) await one.close()
  })
  return open
}
