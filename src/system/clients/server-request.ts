/**
 * Request for a persona's own server: a file in its run directory, written by `turnbell run` and watched by the shim,
 * so that an unused server is not started.
 */
import { randomUUID } from 'node:crypto'
import fs from 'node:fs'
import path from 'node:path'
import * as z from 'zod'
import { parseJsonAs } from '../../contracts/validation/json.ts'
import { processStartTime } from '../process/process-info.ts'
import { programAlive } from '../process/surface-command.ts'
import { readText, watchFile } from '../files/watch-file.ts'

/** `wish` distinguishes consecutive requests; `pid` and `started` identify the requesting process. */
const RequestFile = z.object({
  wish: z.string(),
  pid: z.number().int().positive(),
  started: z.string().nullable(),
})

export interface ServerRequest {
  submit(): void
  /** Calls on every request, and for an existing one whose process lives. Closing the handle stops it. */
  onRequest(start: () => void): { close(): void }
  /** Whether the last requesting process is running. */
  isActive(): boolean
}

export function serverRequest(run_dir: string, client: string): ServerRequest {
  const file = path.join(run_dir, `${client}-wanted`)
  return {
    submit() {
      // The text is unique, so that followers notice every request.
      const wish = { wish: randomUUID(), pid: process.pid, started: processStartTime(process.pid) }
      fs.writeFileSync(file, JSON.stringify(wish), { mode: 0o600 })
    },
    onRequest: (start) =>
      watchFile(file, (text) => {
        if (requesterLives(text)) start()
      }),
    isActive: () => requesterLives(readText(file)),
  }
}

/** False if the requesting process has ended. */
function requesterLives(text: string | null): boolean {
  const requester = parseJsonAs(RequestFile, text)
  return requester !== null && programAlive(requester.pid, requester.started)
}
