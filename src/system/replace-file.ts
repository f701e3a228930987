import fs from 'node:fs'

/**
 * Writes a small private file (mode 0600) as a whole: whoever reads at this moment, or after a crash of this
 * process, finds the old text or the new one, never half of it. With `flush` also after a crash of the machine.
 */
export function replaceFile(file: string, text: string, { flush = false } = {}): void {
  const aside = `${file}.${process.pid}`
  try {
    fs.writeFileSync(aside, text, { mode: 0o600, flush })
    fs.renameSync(aside, file)
  } catch (error) {
    fs.rmSync(aside, { force: true })
    throw error
  }
}
