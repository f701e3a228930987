/**
 * What the real clients stand on, before the first scene. Installs what it may, and otherwise says what
 * is missing: a scene that is left out in silence would be a promise nobody checked.
 */
import { spawnSync } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { install, pathOf } from '../support/debian.mjs'
import { BIN } from '../support/processes.ts'

/** Programs and the Debian packages that bring them. */
const PROGRAMS = { tmux: 'tmux', unshare: 'util-linux', nsenter: 'util-linux', ip: 'iproute2' }
const ROOT = path.resolve(import.meta.dirname, '../..')

export default function setup(): void {
  if (!fs.existsSync(BIN)) throw new Error(`${BIN} is missing: npm run build`)
  installPrograms()
  run(process.execPath, [path.join(ROOT, 'scripts/fetch-clients.mjs')])
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
