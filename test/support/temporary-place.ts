/** Redirects temporary files of a test run into one directory, which is removed when the run ends. */
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { createEnding } from './command/ending.mjs'

export default function setup(): () => void {
  // An interrupted run never calls the returned function, so the ending removes the directory.
  const ending = createEnding()
  // A short name, because socket paths below it are limited.
  const directory = ending.removes(fs.mkdtempSync(path.join(os.tmpdir(), 'tb')))
  process.env['TMPDIR'] = directory
  return () => fs.rmSync(directory, { recursive: true, force: true })
}
