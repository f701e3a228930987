/**
 * What the real clients stand on, before the first scene. Installs what it may, and otherwise says what
 * is missing: a scene that is left out in silence would be a promise nobody checked.
 */
import { spawnSync } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
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
  const missing = () => Object.entries(PROGRAMS).filter(([program]) => !onPath(program))
  if (missing().length > 0 && process.getuid?.() === 0 && onPath('apt-get')) {
    const packages = [...new Set(missing().map(([, debian]) => debian))]
    run('apt-get', ['update', '-qq'])
    run('apt-get', ['install', '-y', '-qq', '--no-install-recommends', ...packages])
  }
  if (missing().length === 0) return
  const named = missing().map(([program, debian]) => `${program} (Debian package ${debian})`)
  throw new Error(`the scenes with real clients need ${named.join(', ')}`)
}

function onPath(program: string): boolean {
  // Package managers and administrators put some of them where a plain user's PATH does not look.
  const directories = [...(process.env['PATH'] ?? '').split(path.delimiter), '/usr/sbin', '/sbin']
  return directories.some((directory) => fs.existsSync(path.join(directory, program)))
}

function run(program: string, args: readonly string[]): void {
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive', RUNLEVEL: '1' }
  const { status, error } = spawnSync(program, args, { stdio: ['ignore', 'inherit', 'inherit'], env })
  if (status !== 0)
    throw new Error(`${program} ${args.join(' ')} failed: ${error?.message ?? `exit code ${status}`}`)
}
