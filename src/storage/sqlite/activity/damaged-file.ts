/** Moves a damaged database away, so that a new one can take its place. */
import fs from 'node:fs'

/** Renames the file, and its -wal and -shm if they exist. Returns the new name of the file. */
export function moveDamagedAway(file: string): string {
  const time = new Date().toISOString().replaceAll(':', '-')
  let moved = `${file}.damaged-${time}`
  for (let count = 2; fs.existsSync(moved); count++) moved = `${file}.damaged-${time}-${count}`
  // Last, because without the database these two could be taken for those of the new one.
  for (const suffix of ['-wal', '-shm', '']) {
    if (fs.existsSync(file + suffix)) fs.renameSync(file + suffix, moved + suffix)
  }
  return moved
}
