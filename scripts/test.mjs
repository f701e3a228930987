/**
 * `npm test`: everything that a release needs, on a fresh machine. Installs the requirements of the tests (Debian
 * packages if it runs as root, judges and agent clients from npm), builds, checks, packs, and runs every test. Ends
 * with the names of failed tests and the plain line `N passed, N failed`.
 */
import { spawnSync } from 'node:child_process'
import path from 'node:path'
import { install, pathOf } from '../test/support/command/debian.mjs'
import { formerLeftOut, leftOutLine, runVitest } from './run-vitest.mjs'
import { clock, timeTable } from './time-table.mjs'

const root = path.resolve(import.meta.dirname, '..')
process.chdir(root)
const clients = !process.argv.includes('--no-clients')
const judges = !process.argv.includes('--no-judges')

/** Programs from outside npm, the Debian package of each, and the tests that need it. */
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
/** Steps in order, for the table at the end. */
const rows = []
/** Test files with their durations. */
const files = []
const SLOWEST_FILES = 15

installPrograms()
step('build', 'node', ['build.mjs'])
step('check', 'node', ['scripts/check.mjs', '--static'])
step('package', 'node', ['scripts/check-package.mjs'])
tests(['fast', 'integration'], '--coverage')
tests(['tools', 'proof'])
tests(['e2e'])
if (!judges) leftOut.push('conformance, inspector, document lints: --no-judges was given')
else if (step('fetch judges', 'node', ['scripts/fetch-judges.mjs'])) tests(['judges'])
else leftOut.push('conformance, inspector, document lints: the judges could not be fetched')
if (!clients) leftOut.push('real clients: --no-clients was given')
else if (step('fetch clients', 'node', ['scripts/fetch-clients.mjs'])) {
  tests(['clients'])
  leftOut.push(formerLeftOut('`npm run test:clients -- --all`'))
} else leftOut.push('real clients: they could not be fetched')

console.log(`\n== time\n${timeTable(rows)}\n\nslowest test files`)
for (const { name, seconds } of files.toSorted((a, b) => b.seconds - a.seconds).slice(0, SLOWEST_FILES))
  console.log(`${clock(seconds)}  ${name}`)
console.log()
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
  const started = performance.now()
  const { status } = spawnSync(command, args, { stdio: 'inherit' })
  rows.push({ name, seconds: (performance.now() - started) / 1000, failed: status !== 0 })
  if (status === 0) passed += 1
  else fail(1, `step: ${name}`)
  return status === 0
}

function fail(count, ...names) {
  failed += count
  broken.push(...names)
}

function tests(projects, ...more) {
  const name = `tests: ${projects.join(', ')}`
  console.log(`\n== ${name}`)
  const started = performance.now()
  const outcome = runVitest(projects, { more })
  const seconds = (performance.now() - started) / 1000
  rows.push({ name, seconds, failed: outcome.failures.length > 0, note: `${outcome.passed} passed` })
  files.push(...outcome.files)
  passed += outcome.passed
  skipped.push(...outcome.skipped)
  const whole = projects.map(
    (project) => `\`npm run test:${project}${project === 'clients' ? ' -- --all' : ''}\``,
  )
  const leftOutHere = leftOutLine(outcome.extendedLeftOut, whole.join(', '))
  if (leftOutHere !== null) leftOut.push(leftOutHere)
  fail(outcome.failures.length, ...outcome.failures)
}
