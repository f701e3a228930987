/**
 * `npm run check`: everything that must hold at every commit, in under a minute. The static checks run next to the
 * tests, two at a time; the output of a failed one is printed at the end. `--static` skips the tests, because `npm
 * test` runs them itself.
 */
import { spawn } from 'node:child_process'
import { commandOptions } from '../test/support/command/command-options.mjs'

const HELP = `usage: npm run check -- [--static]

  --static   without the tests
`
const { values: wanted } = commandOptions(HELP, { options: { static: { type: 'boolean', default: false } } })

const STEPS = [
  ['tests', 'vitest', 'run', '--project', 'fast', '--reporter', 'default'],
  ['lint, types', 'oxlint', '--deny-warnings', '--report-unused-disable-directives'],
  ['format', 'oxfmt', '--check'],
  ['boundaries', 'depcruise', '--cache', '--config', 'dependency-cruiser.config.cjs', 'src', 'adapters'],
  ['generated', process.execPath, 'scripts/generate.mjs', '--check'],
  ['dead code', 'knip', '--no-progress', '--cache'],
]

/** Number of output lines printed for a failed step, from its end. */
const OUTPUT_LINES_MAX = 120

const queue = STEPS.filter(([name]) => name !== 'tests' || !wanted.static)
const failed = []

async function worker() {
  for (let step = queue.shift(); step; step = queue.shift()) {
    const [name, command, ...args] = step
    const started = performance.now()
    const { code, output } = await run(command, args)
    const seconds = ((performance.now() - started) / 1000).toFixed(1)
    console.log(`${code === 0 ? 'ok  ' : 'FAIL'}  ${name.padEnd(11)} ${seconds.padStart(5)} s`)
    if (code !== 0) failed.push({ name, output })
  }
}

function run(command, args) {
  return new Promise((resolve) => {
    const child = spawn(command === process.execPath ? command : `node_modules/.bin/${command}`, args, {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, NO_COLOR: '1', FORCE_COLOR: undefined },
    })
    let output = ''
    child.stdout.on('data', (chunk) => (output += chunk))
    child.stderr.on('data', (chunk) => (output += chunk))
    child.on('close', (code) => resolve({ code: code ?? 1, output }))
  })
}

await Promise.all([worker(), worker()])
for (const { name, output } of failed)
  console.log(`\n--- ${name}\n${output.trim().split('\n').slice(-OUTPUT_LINES_MAX).join('\n')}`)
process.exitCode = failed.length === 0 ? 0 : 1
