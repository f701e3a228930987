/** Builds dist/ for commands that start the product. */
import { spawnSync } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'

const root = path.resolve(import.meta.dirname, '../../..')
/** Sources of dist/. */
const SOURCES = [
  'src',
  'adapters',
  'build.mjs',
  'scripts/build-daemon.mjs',
  'scripts/bundle-settings.mjs',
  'scripts/compile-daemon.mjs',
  'package.json',
  'package-lock.json',
]

/** Builds dist/ if it is missing or older than its sources. Returns false if the build fails. */
export function freshProduct() {
  const sources = SOURCES.map((name) => path.join(root, name))
  if (isFresh(path.join(root, 'dist/turnbell.cjs'), sources)) return true
  process.stderr.write('building dist/ first: it is missing or older than its sources\n')
  const { status } = spawnSync(process.execPath, ['build.mjs'], { cwd: root, stdio: ['ignore', 2, 2] })
  return status === 0
}

/** Returns whether no source changed after `file` was written. Removing a file changes its directory. */
export function isFresh(file, sources) {
  const made = fs.statSync(file, { throwIfNoEntry: false })
  return made !== undefined && sources.every((source) => newest(source) <= made.mtimeMs)
}

function newest(source) {
  const stat = fs.statSync(source)
  if (!stat.isDirectory()) return stat.mtimeMs
  return fs
    .readdirSync(source, { recursive: true })
    .reduce((latest, name) => Math.max(latest, fs.statSync(path.join(source, name)).mtimeMs), stat.mtimeMs)
}
