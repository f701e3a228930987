/**
 * Replaces a file as a whole: writes a draft, syncs it and renames it. Bytes that other programs append before the
 * rename are copied; any other change makes the caller start again.
 */
import fs from 'node:fs'
import path from 'node:path'
import { LIMITS } from '../../../contracts/limits/limits.ts'
import { syncDirectory } from '../journal/sync-directory.ts'

export interface SwapOptions {
  file: string
  text: Buffer
  checkPath: () => void
  /** Called before the draft is created, and right before the rename; throws if not allowed. */
  mayChange: () => void
  /**
   * Returns the bytes appended to the file since the last call; null if the file has changed otherwise and must not be
   * replaced.
   */
  appended: () => Buffer | null
}

/** Returns false, without replacing the file, if it has changed otherwise than by growing. */
export async function swapFile(options: SwapOptions): Promise<boolean> {
  const { file, text, checkPath, mayChange, appended } = options
  const draft = `${file}.new`
  checkPath()
  mayChange()
  // An existing draft may be a link, through which this would write.
  await fs.promises.rm(draft, { recursive: true, force: true })
  const handle = await fs.promises.open(draft, 'wx')
  /** Another process may have replaced the draft by its own. */
  const isOurs = () => fs.statSync(draft, { throwIfNoEntry: false })?.ino === fs.fstatSync(handle.fd).ino
  try {
    await handle.writeFile(text)
    await copyMode(handle, file)
    await handle.datasync()
    checkPath()
    // Synchronous up to the rename, so that nothing else in this process runs in between.
    for (let tails = 1; ; tails += 1) {
      const tail = appended()
      if (tail === null || tails === LIMITS.file_tails_max) return false
      if (tail.length === 0) break
      fs.writeSync(handle.fd, tail)
      fs.fdatasyncSync(handle.fd)
    }
    mayChange()
    if (!isOurs()) throw new Error('another process writes this file')
    fs.renameSync(draft, file)
  } finally {
    try {
      if (isOurs()) fs.rmSync(draft, { force: true })
    } finally {
      await handle.close()
    }
  }
  await syncDirectory(path.dirname(file))
  return true
}

/** Copies the permissions of the replaced file. A link is skipped, because its mode means nothing. */
async function copyMode(handle: fs.promises.FileHandle, file: string): Promise<void> {
  const stat = fs.lstatSync(file, { throwIfNoEntry: false })
  if (stat?.isFile() === true && process.platform !== 'win32') await handle.chmod(stat.mode & 0o777)
}
