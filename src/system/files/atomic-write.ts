/** Replaces small files so that a reader never sees a partly written one. */
import fs from 'node:fs'

/**
 * Writes a small file atomically, by default a private one. Readers see the old content or the new one, also after a
 * crash of this process; with `flush` also after a crash of the machine.
 */
export function writeFileAtomic(
  file: string,
  content: string | Buffer,
  { flush = false, mode = 0o600 } = {},
): void {
  const aside = `${file}.${process.pid}`
  try {
    fs.writeFileSync(aside, content, { mode, flush })
    fs.renameSync(aside, file)
  } catch (error) {
    fs.rmSync(aside, { force: true })
    throw error
  }
}

/**
 * Like `writeFileAtomic`, in a directory that only this program writes: a directory with the name of the file is removed
 * with its content.
 */
export function replaceEntry(file: string, content: string): void {
  try {
    writeFileAtomic(file, content)
  } catch (error) {
    if (fs.lstatSync(file, { throwIfNoEntry: false })?.isDirectory() !== true) throw error
    fs.rmSync(file, { recursive: true })
    writeFileAtomic(file, content)
  }
}
