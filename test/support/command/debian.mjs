/** Finds programs from outside npm, and names the Debian packages that provide them. */
import { spawnSync } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'

/** Directories of servers, which are not on an ordinary user's PATH. */
const MORE_DIRECTORIES = ['/usr/sbin', '/usr/local/sbin', '/sbin']

/** Returns null if the program is not installed. */
export function pathOf(program) {
  const directories = [...(process.env.PATH ?? '').split(path.delimiter), ...MORE_DIRECTORIES]
  const files = directories.map((directory) => path.join(directory, program))
  return files.find((file) => fs.existsSync(file)) ?? null
}

/** Installs packages and prints its progress on stderr. Does nothing without root or without apt-get. */
export function install(packages) {
  if (packages.length === 0 || process.getuid?.() !== 0 || pathOf('apt-get') === null) return
  process.stderr.write(`installing ${packages.join(', ')}\n`)
  // Debian would start an installed server. One kind of installer script checks the runlevel, another checks systemd.
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive', RUNLEVEL: '1', SYSTEMD_OFFLINE: '1' }
  const apt = (...args) =>
    spawnSync('apt-get', ['-qq', ...args], { env, stdio: ['ignore', 'ignore', 'inherit'] })
  apt('update')
  apt('install', '-y', '--no-install-recommends', ...packages)
  forgetServices(packages)
}

/** Keeps the services disabled at the next boot. */
function forgetServices(packages) {
  if (!fs.existsSync('/run/systemd/system')) return
  const { stdout } = spawnSync('dpkg', ['-L', ...packages], { encoding: 'utf8' })
  const files = (stdout ?? '').split('\n').filter((file) => /\/systemd\/system\/[^/@]+\.service$/.test(file))
  if (files.length === 0) return
  const units = files.map((file) => path.basename(file))
  spawnSync('systemctl', ['disable', ...units], { stdio: ['ignore', 'ignore', 'inherit'] })
}
