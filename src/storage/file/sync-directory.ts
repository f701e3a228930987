import fs from 'node:fs/promises'

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
