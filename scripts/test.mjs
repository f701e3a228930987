/**
 * `npm test`: everything a release needs, on a fresh machine. Installs what the tests stand on
 * (Debian packages when it is root, judges and agent clients from npm), builds, checks, packs, and runs
 * every test. Ends with what failed, by name, and the plain line `N passed, N failed`.
 */
import { spawnSync } from 'node:child_process'
import path from 'node:path'
import { install, pathOf } from '../test/support/debian.mjs'
import { leftOutLine, runVitest } from './run-vitest.mjs'

const root = path.resolve(import.meta.dirname, '..')
process.chdir(root)
const clients = !process.argv.includes('--no-clients')
const judges = !process.argv.includes('--no-judges')

/** Programs from outside npm, the Debian package that brings each, and which tests need it. */
const PROGRAMS = [
  { program: 'tmux', debian: 'tmux', needed_for: 'real clients in a terminal' },
  { program: 'unshare', debian: 'util-linux', needed_for: 'real clients without a network' },
  { program: 'ip', debian: 'iproute2', needed_for: 'real clients without a network' },
  { program: 'promtool', debian: 'prometheus', needed_for: 'the metrics check' },
  { program: 'systemd-analyze', debian: 'systemd', needed_for: 'the unit check' },
  { program: 'plistutil', debian: 'libplist-utils', needed_for: 'the LaunchAgent check' },
  { program: 'zsh', debian: 'zsh', needed_for: 'its completion of command lines' },
  { program: 'fish', debian: 'fish', needed_for: 'its completion of command lines' },
]

let passed = 0
let failed = 0
const leftOut = []
const broken = []
const skipped = []

installPrograms()
step('build', 'node', ['build.mjs'])
step('check', 'node', ['scripts/check.mjs', '--static'])
step('package', 'node', ['scripts/check-package.mjs'])
tests(['fast', 'integration'], '--coverage')
tests(['proof'])
tests(['e2e'])
if (!judges) leftOut.push('conformance, inspector, document lints: --no-judges was given')
else if (step('fetch judges', 'node', ['scripts/fetch-judges.mjs'])) tests(['judges'])
else leftOut.push('conformance, inspector, document lints: the judges could not be fetched')
if (!clients) leftOut.push('real clients: --no-clients was given')
else if (step('fetch clients', 'node', ['scripts/fetch-clients.mjs'])) tests(['clients'])
else leftOut.push('real clients: they could not be fetched')

for (const what of [...leftOut, ...skipped]) console.log(`LEFT OUT  ${what}`)
for (const what of broken) console.log(`FAILED  ${what}`)
console.log(`${passed} passed, ${failed} failed`)
process.exitCode = failed === 0 ? 0 : 1

function installPrograms() {
  const missing = () => PROGRAMS.filter(({ program }) => pathOf(program) === null)
  install([...new Set(missing().map(({ debian }) => debian))])
  for (const { program, debian, needed_for } of missing()) {
    leftOut.push(`${needed_for}: ${program} is missing (Debian package ${debian})`)
    failed += 1
  }
}

function step(name, command, args) {
  console.log(`\n== ${name}`)
  const { status } = spawnSync(command, args, { stdio: 'inherit' })
  if (status === 0) passed += 1
  else fail(1, `step: ${name}`)
  return status === 0
}

function fail(count, ...names) {
  failed += count
  broken.push(...names)
}

function tests(projects, ...more) {
  console.log(`\n== tests: ${projects.join(', ')}`)
  const { passed: count, failures, skipped: notRun, extendedLeftOut } = runVitest(projects, { more })
  passed += count
  skipped.push(...notRun)
  const leftOutHere = leftOutLine(extendedLeftOut, `\`npm run test:${projects[0]} -- --all\``)
  if (leftOutHere !== null) leftOut.push(leftOutHere)
  fail(failures.length, ...failures)
}
