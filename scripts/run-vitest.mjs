/** Runs vitest for one or more projects and returns what its report contains. */
import { spawnSync } from 'node:child_process'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { FORMER, named } from './client-packages.mjs'

const ROOT = path.resolve(import.meta.dirname, '..')

/** Tag of tests that run only with `--all`; declared in vitest.config.ts. */
const EXTENDED = 'extended'

/**
 * Prints the progress of vitest and returns `{exitCode, passed, failures, skipped, extendedLeftOut, files}`: `failures`
 * and `skipped` are lines to print, `extendedLeftOut` is the number of extended tests that did not run, and `files` has
 * `{name, seconds}` of each test file. With `all`, extended tests run, too. `more` are arguments of vitest, `env` is its
 * environment.
 */
export function runVitest(projects, { all = false, more = [], env = process.env } = {}) {
  const directory = fs.mkdtempSync(path.join(os.tmpdir(), 'turnbell-test-'))
  const report = path.join(directory, 'report.json')
  const { status } = spawnSync(
    'node_modules/.bin/vitest',
    [
      ...['run', ...projects.flatMap((project) => ['--project', project])],
      ...(all ? [] : ['--tags-filter', `!${EXTENDED}`]),
      ...['--reporter=default', '--reporter=json', `--outputFile.json=${report}`, ...more],
    ],
    { cwd: ROOT, stdio: 'inherit', env },
  )
  const counts = fs.existsSync(report) ? JSON.parse(fs.readFileSync(report, 'utf8')) : null
  fs.rmSync(directory, { recursive: true })
  const results = counts?.testResults ?? []
  const failures = results.flatMap(failuresOf)
  // A run can fail without a failed test: coverage below its threshold, or an uncaught error.
  if (status !== 0 && failures.length === 0)
    failures.push(`tests: ${projects.join(', ')}: exit code ${status}`)
  return {
    exitCode: status ?? 1,
    passed: counts?.numPassedTests ?? 0,
    failures,
    skipped: results.flatMap(skippedOf),
    extendedLeftOut: all ? 0 : results.flatMap(pendingOf).filter(isExtended).length,
    files: results.map(({ name, startTime, endTime }) => ({
      name: path.relative(ROOT, name),
      seconds: (endTime - startTime) / 1000,
    })),
  }
}

/** Returns the line with the number of extended tests that were left out, or null. */
export function leftOutLine(count, command) {
  return count === 0 ? null : `${count} extended tests: run them with ${command}`
}

/** Returns the line about the scenes with former clients, which were left out. */
export function formerLeftOut(command) {
  return `scenes of Claude Code and Codex with ${named(FORMER)}: run them with ${command}`
}

const isExtended = ({ tags }) => tags.includes(EXTENDED)

/** Returns the tests that did not run. A failed hook is reported as a failure of its file instead. */
function pendingOf({ status: whole, assertionResults }) {
  const isBroken = whole === 'failed' && assertionResults.every(({ status }) => status !== 'failed')
  if (isBroken) return []
  return assertionResults.filter(({ status }) => status !== 'passed' && status !== 'failed')
}

/** Returns the tests that this machine or this user cannot run. */
function skippedOf(file) {
  return pendingOf(file)
    .filter((test) => !isExtended(test))
    .map(
      ({ fullName }) =>
        `${path.relative(ROOT, file.name)} > ${fullName}: not on this machine, or not as this user`,
    )
}

/** Returns each failed test, or file that failed as a whole, with its reason. */
function failuresOf({ name, status, message, assertionResults }) {
  const file = path.relative(ROOT, name)
  const tests = assertionResults
    .filter((test) => test.status === 'failed')
    .map((test) => `${file} > ${test.fullName}: ${reasonIn(test.failureMessages[0])}`)
  if (tests.length > 0 || status === 'passed') return tests
  return [`${file}: ${reasonIn(message) || 'a hook failed, see above'}`]
}

/** Returns the first line of the text. fast-check prints in the second one what repeats a failure. */
function reasonIn(text = '') {
  // vitest reports a test that timed out with this marker.
  if (text.includes('STACK_TRACE_ERROR')) return 'timed out'
  const [first, second = ''] = text.split('\n', 2)
  return second.startsWith('{ seed:') ? `${first} ${second}` : first
}
