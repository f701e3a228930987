/**
 * Installs the agent clients that `npm run test:clients` drives into the ignored folder `.clients/`,
 * with npm and whatever registry this machine's npm is set up for. They are hundreds of megabytes, so
 * they are never dependencies. Doing it again does nothing.
 */
import { spawnSync } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'

const root = path.resolve(import.meta.dirname, '..')
const folder = path.join(root, '.clients')

/** Exactly the versions the captured payloads under test/fixtures/ come from. */
const CLIENTS = {
  '@anthropic-ai/claude-code': '2.1.329',
  '@openai/codex': '0.169.0',
  'opencode-ai': '1.18.33',
  // Installed by opencode itself where it is missing; without a network it would wait for that.
  '@opencode-ai/plugin': '1.18.33',
}

const wanted = Object.entries(CLIENTS).filter(([name, version]) => installed(name) !== version)
if (wanted.length > 0) install()

function install() {
  fs.mkdirSync(folder, { recursive: true })
  // A package.json of its own keeps npm from walking up into the project's.
  const manifest = path.join(folder, 'package.json')
  if (!fs.existsSync(manifest)) fs.writeFileSync(manifest, '{ "private": true }\n')
  const packages = wanted.map(([name, version]) => `${name}@${version}`)
  console.log(`installing ${packages.join(', ')} into .clients/`)
  const { status } = spawnSync(
    'npm',
    ['install', '--no-audit', '--no-fund', '--loglevel=error', '--save-exact', ...packages],
    { cwd: folder, stdio: 'inherit' },
  )
  if (status !== 0) {
    console.error(`npm could not install ${packages.join(', ')}; look at its messages above`)
    process.exit(status ?? 1)
  }
}

function installed(name) {
  const manifest = path.join(folder, 'node_modules', name, 'package.json')
  return fs.existsSync(manifest) ? JSON.parse(fs.readFileSync(manifest, 'utf8')).version : null
}
