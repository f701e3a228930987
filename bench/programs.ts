/** Programs of others that the product is measured beside, from Debian's packages. */
import { spawnSync } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { cleanEnvironment } from '../test/support/processes.ts'

/** Servers stand where an ordinary user's path does not look. */
const MORE_DIRECTORIES = ['/usr/sbin', '/usr/local/sbin']

/** Its path, installed first where that is possible; null where it cannot be had. */
export function programOf(program: string, debian_package: string): string | null {
  const there = find(program)
  if (there !== null || process.getuid?.() !== 0 || find('apt-get') === null) return there
  process.stderr.write(`       installing ${debian_package}\n`)
  // A server that is installed would be started, which is not wanted.
  const env = { ...cleanEnvironment(), DEBIAN_FRONTEND: 'noninteractive', RUNLEVEL: '1' }
  const apt = (...args: string[]) => spawnSync('apt-get', ['-qq', ...args], { env, stdio: 'ignore' })
  apt('update')
  apt('install', '-y', '--no-install-recommends', debian_package)
  return find(program)
}

/** Its path where it is installed. */
export function find(program: string): string | null {
  const directories = [...(process.env['PATH'] ?? '').split(path.delimiter), ...MORE_DIRECTORIES]
  const files = directories.map((directory) => path.join(directory, program))
  return files.find((file) => fs.existsSync(file)) ?? null
}
