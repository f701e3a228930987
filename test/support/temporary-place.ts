/** A directory for all that a run leaves in the system's temporary one, taken away when the run is over. */
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { createEnding } from './ending.mjs'

export default function setup(): () => void {
  // Nobody calls what this answers when the run is interrupted.
  const ending = createEnding()
  // Short: the paths of sockets below it are bounded.
  const directory = ending.removes(fs.mkdtempSync(path.join(os.tmpdir(), 'tb')))
  process.env['TMPDIR'] = directory
  return () => fs.rmSync(directory, { recursive: true, force: true })
}
