import fs from 'node:fs/promises'
import { parentsOfMade } from '../../system/durable-directory.ts'

/** Makes names durable: a new, renamed or removed file. */
export async function syncDirectory(directory: string): Promise<void> {
  // Windows keeps names durable by itself and cannot open a directory.
  if (process.platform === 'win32') return
  const handle = await fs.open(directory, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

/** Makes the names durable of directories that `mkdir` has made: `made` is what it answered. */
export async function syncMade(made: string, directory: string): Promise<void> {
  for (const above of parentsOfMade(made, directory)) await syncDirectory(above)
}
