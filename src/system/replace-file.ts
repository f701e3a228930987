import fs from 'node:fs'

/**
 * Writes a small file, by itself a private one, as a whole: whoever reads at this moment, or after a crash of this
 * process, finds the old content or the new one, never half of it. With `flush` also after a crash of the machine.
 */
export function replaceFile(
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
