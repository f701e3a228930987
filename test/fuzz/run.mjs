/**
 * `npm run fuzz`: fuzzes the parsers that face the outside.
 *
 * Distributes a number of inputs over all targets and prints a line for each target, and the total. An input that
 * breaks a promise is printed, saved in the temporary directory, and tried again with `--input`. Exits with 1 if there
 * was one. After the fix it becomes a file in `corpus/TARGET/`, which every run tries first.
 */
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import { bundled } from '../support/command/bundled.mjs'
import { commandOptions, SEEDS } from '../support/command/command-options.mjs'
import { createEnding } from '../support/command/ending.mjs'
import { createCrew } from './coverage/crew.mjs'
import { instrument } from './coverage/instrument.mjs'
import { createReport } from './report.mjs'
import { TARGET_NAMES } from './targets/names.mjs'

/** Time limit for one input, generous enough for a busy machine. */
const HANG_MS = 30_000
const JOBS_MAX = 256

const HELP = `usage: npm run fuzz -- [TARGET…] [options]

  --inputs N    inputs of all targets together (1000000, or without a limit if minutes are given); each
                target is tried with at least a hundred besides its seeds while there is time
  --seed N      seed of all random choices (1)
  --minutes N   end after this time
  --jobs N      threads, each with its own target, at most ${JOBS_MAX} (one for each core)
  --input FILE  only this input, from the output of a crash

Targets, all if none is named: ${TARGET_NAMES.join(' ')}.
Prints a line for each target and the total, also after Ctrl-C. Exit 1 if an input broke a promise; the input is then
saved. Exit 2 for invalid arguments, 3 if the command itself failed.
`

const { values, positionals } = commandOptions(HELP, {
  names: TARGET_NAMES,
  options: {
    inputs: { type: 'string' },
    seed: { type: 'string', default: '1' },
    minutes: { type: 'string' },
    jobs: { type: 'string' },
    input: { type: 'string' },
  },
  numbers: { inputs: 1, seed: { ...SEEDS, least: 1 }, minutes: 1, jobs: { least: 1, most: JOBS_MAX } },
  files: ['input'],
  places: { script: 'fuzz', names: ['input'] },
  check({ input, inputs: many, minutes }) {
    if (input !== undefined && (many !== undefined || minutes !== undefined))
      throw new Error('--input is the only one: it goes with no --inputs or --minutes')
  },
})

const inputs = values.inputs ?? (values.minutes === undefined ? 1_000_000 : Infinity)
const length = Number.isFinite(inputs) ? `--inputs ${inputs}` : `--minutes ${values.minutes}`

const command = `node ${path.relative('', import.meta.filename)}`
const root = path.resolve(import.meta.dirname, '../..')
// Targets load their fixtures relative to the root.
process.chdir(root)
const ending = createEnding()
const home = ending.removes(fs.mkdtempSync(path.join(os.tmpdir(), 'turnbell-fuzz-')))
const ways = instrument(root, 'turnbellWays')
const out = await bundled('fuzz', ['test/fuzz/main.ts'], ending, {
  sourcemap: true,
  plugins: [ways.plugin],
  // The number of counters is known only after bundling.
  banner: {
    js: "import { workerData as turnbellOrder } from 'node:worker_threads'; const turnbellWays = (globalThis.turnbellWays = new Uint8Array(turnbellOrder.ways))",
  },
})

const report = createReport({ command, seed: values.seed, length })
const crew = createCrew({
  file: pathToFileURL(path.join(out, 'main.js')),
  settings: {
    // Rounded up to a multiple of four.
    ways: (ways.count() + 4) & ~3,
    seed: values.seed,
    only: values.input === undefined ? null : fs.readFileSync(values.input),
    corpus: path.join(import.meta.dirname, 'corpus'),
    home,
  },
  threads: Math.min(values.jobs ?? os.availableParallelism(), positionals.length || TARGET_NAMES.length),
  names: positionals,
  inputs,
  minutes: values.minutes ?? Infinity,
  hang_ms: HANG_MS,
  sources: values.input !== undefined,
  report,
})
const done = crew.ended.then((failure) => {
  report.total()
  if (report.crashes > 0) process.exitCode = 1
  if (failure === null) return
  process.stderr.write(`${failure}\n`)
  process.exitCode = 3
})
ending.onInterrupt(() => {
  void crew.stop()
  return done
})
