/**
 * Installs exact versions of npm packages into an ignored folder of the project, with the registry of this machine's
 * npm. Running it again does nothing.
 */
import { spawnSync } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'

const root = path.resolve(import.meta.dirname, '..')

/** `versions` by package name; `env` for their install scripts. Ends the process if npm fails. */
export function fetchPackages(folder, versions, env = {}) {
  const at = path.join(root, folder)
  const wanted = Object.entries(versions).filter(([name, version]) => installed(at, name) !== version)
  if (wanted.length === 0) return
  fs.mkdirSync(at, { recursive: true })
  // A separate package.json keeps npm from using the project's.
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
    console.error(`npm could not install ${packages.join(', ')}; see its messages above`)
    process.exit(status ?? 1)
  }
}

function installed(at, name) {
  const manifest = path.join(at, 'node_modules', name, 'package.json')
  return fs.existsSync(manifest) ? JSON.parse(fs.readFileSync(manifest, 'utf8')).version : null
}
