/**
 * Installs exact versions of npm packages into an ignored folder of the project, with npm and whatever
 * registry this machine's npm is set up for. Doing it again does nothing.
 */
import { spawnSync } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'

const root = path.resolve(import.meta.dirname, '..')

/** `versions` by package name, `env` for what they do when they are installed. Ends the process where npm fails. */
export function fetchPackages(folder, versions, env = {}) {
  const at = path.join(root, folder)
  const wanted = Object.entries(versions).filter(([name, version]) => installed(at, name) !== version)
  if (wanted.length === 0) return
  fs.mkdirSync(at, { recursive: true })
  // A package.json of its own keeps npm from walking up into the project's.
  const manifest = path.join(at, 'package.json')
  if (!fs.existsSync(manifest)) fs.writeFileSync(manifest, '{ "private": true }\n')
  const packages = wanted.map(([name, version]) => `${name}@${version}`)
  console.log(`installing ${packages.join(', ')} into ${folder}/`)
  const { status } = spawnSync(
    'npm',
    ['install', '--no-audit', '--no-fund', '--loglevel=error', '--save-exact', ...packages],
    { cwd: at, stdio: 'inherit', env: { ...process.env, ...env } },
  )
  if (status !== 0) {
    console.error(`npm could not install ${packages.join(', ')}; look at its messages above`)
    process.exit(status ?? 1)
  }
}

function installed(at, name) {
  const manifest = path.join(at, 'node_modules', name, 'package.json')
  return fs.existsSync(manifest) ? JSON.parse(fs.readFileSync(manifest, 'utf8')).version : null
}
