/**
 * Somebody wants a persona's own server: a file in its run directory, made by `turnbell run` and followed by
 * the shim. A persona whose agent runs elsewhere keeps no server that nobody joins.
 */
import { randomUUID } from 'node:crypto'
import fs from 'node:fs'
import path from 'node:path'
import { watchText } from './watch-text.ts'

export interface ServerWish {
  ask(): void
  /** Calls when somebody asks, or has asked before. The handle ends it. */
  onAsked(start: () => void): { close(): void }
  /** The server has been stopped for good: whoever comes next asks anew. */
  forget(): void
}

export function serverWish(run_dir: string, client: string): ServerWish {
  const file = path.join(run_dir, `${client}-wanted`)
  return {
    // A text of its own each time: whoever follows the file is told of every one who asks.
    ask: () => fs.writeFileSync(file, randomUUID(), { mode: 0o600 }),
    onAsked: (start) => watchText(file, (text) => text !== null && start()),
    forget: () => fs.rmSync(file, { force: true }),
  }
}
