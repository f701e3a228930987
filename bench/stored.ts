/** Journals with many signals, like those of a hub that has run for a long time. */
import fs from 'node:fs'
import path from 'node:path'
import type { StoredHandlers } from './programs/stored-process.ts'
import { startRemote } from './remote.ts'

/**
 * Fills `directory`, a hub's, with this many signals for personas that no benchmark uses. Returns the size of its
 * journal in bytes.
 */
export async function fillStore(directory: string, signals: number): Promise<number> {
  const { call, stop } = await startRemote<StoredHandlers>('stored-process')
  try {
    await call.fill({ directory, signals })
  } finally {
    await stop()
  }
  return journalBytes(directory)
}

function journalBytes(directory: string): number {
  const journal = path.join(directory, 'journal')
  return fs
    .readdirSync(journal)
    .filter((name) => name.endsWith('.jsonl'))
    .reduce((sum, name) => sum + fs.statSync(path.join(journal, name)).size, 0)
}
