/** Makes file and directory names durable, without blocking the event loop. */
import fs from 'node:fs/promises'
import { parentsOfMade } from '../../../system/files/durable-directory.ts'

/** Makes created, renamed and removed names in a directory durable. */
export async function syncDirectory(directory: string): Promise<void> {
  // Windows makes names durable by itself and cannot open a directory.
  if (process.platform === 'win32') return
  const handle = await fs.open(directory, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

/** Makes directories created by `mkdir` durable. `made` is the return value of `mkdir`. */
export async function syncMade(made: string, directory: string): Promise<void> {
  for (const above of parentsOfMade(made, directory)) await syncDirectory(above)
}
