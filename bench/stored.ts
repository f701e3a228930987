/** Journals with many signals in them, as hubs have that ran for long. */
import fs from 'node:fs'
import path from 'node:path'
import type { StoredHandlers } from './stored-process.ts'
import { startRemote } from './remote.ts'

/**
 * Fills `directory`, which is a hub's, with so many signals for personas that no benchmark uses. Answers
 * the bytes of its journal.
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
