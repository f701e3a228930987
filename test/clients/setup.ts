/**
 * Prepares the requirements of the real clients before the first scene. Installs what it may and otherwise reports
 * missing programs, because a silently skipped scene would leave a promise unchecked.
 */
import { spawnSync } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { CURRENT, folderOf, named, usesFormer } from '../../scripts/client-packages.mjs'
import { install, pathOf } from '../support/command/debian.mjs'
import { BIN } from '../support/processes/processes.ts'

/** Programs and their Debian packages. */
const PROGRAMS = { tmux: 'tmux', unshare: 'util-linux', nsenter: 'util-linux', ip: 'iproute2' }
const ROOT = path.resolve(import.meta.dirname, '../..')

export default function setup(): void {
  if (!fs.existsSync(BIN)) throw new Error(`${BIN} is missing: npm run build`)
  installPrograms()
  const former = usesFormer()
  run(process.execPath, [path.join(ROOT, 'scripts/fetch-clients.mjs'), ...(former ? ['--former'] : [])])
  console.log(`clients: ${named({ versions: installed() })}`)
}

/** Returns the installed versions that the scenes use. */
function installed(): Record<string, string> {
  const versions = Object.keys(CURRENT.versions).map((name) => {
    const manifest = path.join(ROOT, folderOf(name), 'node_modules', name, 'package.json')
    const { version } = JSON.parse(fs.readFileSync(manifest, 'utf8')) as { version: string }
    return [name, version]
  })
  return Object.fromEntries(versions) as Record<string, string>
}

function installPrograms(): void {
  const missing = () => Object.entries(PROGRAMS).filter(([program]) => pathOf(program) === null)
  install([...new Set(missing().map(([, debian]) => debian))])
  if (missing().length === 0) return
  const named = missing().map(([program, debian]) => `${program} (Debian package ${debian})`)
  throw new Error(`the scenes with real clients need ${named.join(', ')}`)
}

function run(program: string, args: readonly string[]): void {
  const { status, error } = spawnSync(program, args, { stdio: ['ignore', 'inherit', 'inherit'] })
  if (status !== 0)
    throw new Error(`${program} ${args.join(' ')} failed: ${error?.message ?? `exit code ${status}`}`)
}
