/**
 * A file is replaced as a whole: written aside, synced, renamed. What others do to it until the rename is seen,
 * and either taken along or begun with again.
 */
import fs from 'node:fs'
import path from 'node:path'
import { LIMITS } from '../../contracts/limits.ts'
import { syncDirectory } from './sync-directory.ts'

export interface SwapOptions {
  file: string
  text: Buffer
  needWay: () => void
  /** Asked before a draft is begun, where another's may stand, and at the last moment. */
  mayChange: () => void
  /**
   * What has come to the file behind what was read, as often as asked; null where it is no longer what was read,
   * and nothing may be replaced.
   */
  since: () => Buffer | null
}

/** False where the file has changed otherwise than by growing: it stays as it is. */
export async function swapFile(options: SwapOptions): Promise<boolean> {
  const { file, text, needWay, mayChange, since } = options
  const draft = `${file}.new`
  needWay()
  mayChange()
  // What stands there may be a link, and would be written through.
  await fs.promises.rm(draft, { recursive: true, force: true })
  const handle = await fs.promises.open(draft, 'wx')
  /** Somebody who stood still, or has the place by now, may have begun one of their own there. */
  const isOurs = () => fs.statSync(draft, { throwIfNoEntry: false })?.ino === fs.fstatSync(handle.fd).ino
  try {
    await handle.writeFile(text)
    await likeBefore(handle, file)
    await handle.datasync()
    needWay()
    // From here to the rename nobody else in this process comes between.
    for (let tails = 1; ; tails += 1) {
      const tail = since()
      if (tail === null || tails === LIMITS.file_tails_max) return false
      if (tail.length === 0) break
      fs.writeSync(handle.fd, tail)
      fs.fdatasyncSync(handle.fd)
    }
    mayChange()
    if (!isOurs()) throw new Error('another process writes there')
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

/** Who may read and write it stays as somebody has set it. A link says nothing of that: everybody may all. */
async function likeBefore(handle: fs.promises.FileHandle, file: string): Promise<void> {
  const stat = fs.lstatSync(file, { throwIfNoEntry: false })
  if (stat?.isFile() === true && process.platform !== 'win32') await handle.chmod(stat.mode & 0o777)
}
