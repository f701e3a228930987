/** Programs from outside npm: where they are, and Debian's packages that bring them. */
import { spawnSync } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'

/** Servers stand where an ordinary user's path does not look. */
const MORE_DIRECTORIES = ['/usr/sbin', '/usr/local/sbin', '/sbin']

/** Null where it is not installed. */
export function pathOf(program) {
  const directories = [...(process.env.PATH ?? '').split(path.delimiter), ...MORE_DIRECTORIES]
  const files = directories.map((directory) => path.join(directory, program))
  return files.find((file) => fs.existsSync(file)) ?? null
}

/** Does nothing where it cannot: for anybody but root, and where there is no apt-get. Says what it does on stderr. */
export function install(packages) {
  if (packages.length === 0 || process.getuid?.() !== 0 || pathOf('apt-get') === null) return
  process.stderr.write(`installing ${packages.join(', ')}\n`)
  // A server that is installed would be started, which is not wanted: one asks the runlevel, one asks systemd.
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive', RUNLEVEL: '1', SYSTEMD_OFFLINE: '1' }
  const apt = (...args) =>
    spawnSync('apt-get', ['-qq', ...args], { env, stdio: ['ignore', 'ignore', 'inherit'] })
  apt('update')
  apt('install', '-y', '--no-install-recommends', ...packages)
  forgetServices(packages)
}

/** Nor is it wanted at the next start of the machine. */
function forgetServices(packages) {
  if (!fs.existsSync('/run/systemd/system')) return
  const { stdout } = spawnSync('dpkg', ['-L', ...packages], { encoding: 'utf8' })
  const files = (stdout ?? '').split('\n').filter((file) => /\/systemd\/system\/[^/@]+\.service$/.test(file))
  if (files.length === 0) return
  const units = files.map((file) => path.basename(file))
  spawnSync('systemctl', ['disable', ...units], { stdio: ['ignore', 'ignore', 'inherit'] })
}
