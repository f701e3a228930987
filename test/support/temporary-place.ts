/** A directory for all that a run leaves in the system's temporary one, taken away when the run is over. */
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'

export default function setup(): () => void {
  // Short: the paths of sockets below it are bounded.
  const directory = fs.mkdtempSync(path.join(os.tmpdir(), 'tb'))
  process.env['TMPDIR'] = directory
  return () => fs.rmSync(directory, { recursive: true, force: true })
}
