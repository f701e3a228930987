/**
 * Somebody wants a persona's own server: a file in its run directory, made by `turnbell run` and followed by
 * the shim. A persona whose agent runs elsewhere keeps no server that nobody joins.
 */
import { randomUUID } from 'node:crypto'
import fs from 'node:fs'
import path from 'node:path'
import * as z from 'zod'
import { jsonAs } from '../contracts/json.ts'
import { processStartTime } from './processes.ts'
import { programAlive } from './program.ts'
import { readText, watchText } from './watch-text.ts'

/** The number of a wish tells it from the one before, and its process from one that is gone. */
const Wish = z.object({ wish: z.string(), pid: z.number().int().positive(), started: z.string().nullable() })

export interface ServerWish {
  ask(): void
  /** Calls when somebody asks, or has asked before and is still there. The handle ends it. */
  onAsked(start: () => void): { close(): void }
  /** Whether the process that asked last is still running. */
  stands(): boolean
}

export function serverWish(run_dir: string, client: string): ServerWish {
  const file = path.join(run_dir, `${client}-wanted`)
  return {
    ask() {
      // A text of its own each time: whoever follows the file is told of every one who asks.
      const wish = { wish: randomUUID(), pid: process.pid, started: processStartTime(process.pid) }
      fs.writeFileSync(file, JSON.stringify(wish), { mode: 0o600 })
    },
    onAsked: (start) =>
      watchText(file, (text) => {
        if (askerLives(text)) start()
      }),
    stands: () => askerLives(readText(file)),
  }
}

/** False for a wish that a process left which is gone. */
function askerLives(text: string | null): boolean {
  const asker = jsonAs(Wish, text)
  return asker !== null && programAlive(asker.pid, asker.started)
}
