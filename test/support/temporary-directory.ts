import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { onTestFinished } from 'vitest'

/** Creates a directory with mode 0700 that is removed after the test. */
export function temporaryDirectory(): string {
  const directory = fs.mkdtempSync(path.join(os.tmpdir(), 'turnbell-'))
  onTestFinished(() => fs.rmSync(directory, { recursive: true, force: true }))
  return directory
}
