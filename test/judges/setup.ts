/** Prepares the external programs and a build of the product. */
import { spawnSync } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { BIN } from '../support/processes/processes.ts'

export default function setup(): void {
  if (!fs.existsSync(BIN)) throw new Error(`${BIN} is missing: npm run build`)
  const fetcher = path.resolve(import.meta.dirname, '../../scripts/fetch-judges.mjs')
  const { status } = spawnSync(process.execPath, [fetcher], { stdio: ['ignore', 'inherit', 'inherit'] })
  if (status !== 0) throw new Error('the judges could not be fetched')
}
