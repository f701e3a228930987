/**
 * `npm run fuzz`: fuzzes what faces the outside.
 *
 * So many inputs over all targets, a line for each target, and the total. An input that breaks a promise is printed, kept in
 * the temporary directory, and tried again with `--input`. Exits with 1 if there was one. Found and mended, it becomes a
 * file in `corpus/TARGET/`, which every run begins with.
 */
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import { bundled } from '../support/bundled.mjs'
import { commandOptions, SEEDS } from '../support/command-options.mjs'
import { createEnding } from '../support/ending.mjs'
import { createCrew } from './crew.mjs'
import { instrument } from './instrument.mjs'
import { createReport } from './report.mjs'
import { TARGET_NAMES } from './targets/names.mjs'

/** One input may take so long on a machine that does other things, too. */
const HANG_MS = 30_000
const JOBS_MAX = 256

const HELP = `usage: npm run fuzz -- [TARGET…] [options]

  --inputs N    over all targets together (1000000, or as many as fit where minutes are given); while
                there is time each target is tried with a hundred beside its seeds
  --seed N      of all chances (1)
  --minutes N   end after so long, whatever is left
  --jobs N      threads, each with a target of its own, at most ${JOBS_MAX} (as many as there are cores)
  --input FILE  only this input, as a crash has printed it

Targets, all where none is named: ${TARGET_NAMES.join(' ')}.
Prints a line for each and the total, after Ctrl-C as well. Exit 1 when an input broke a promise, which is kept then; 2 for what
makes no sense, 3 where the command itself could not go on.
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
// Where targets look for their fixtures.
process.chdir(root)
const ending = createEnding()
const home = ending.removes(fs.mkdtempSync(path.join(os.tmpdir(), 'turnbell-fuzz-')))
const ways = instrument(root, 'turnbellWays')
const out = await bundled('fuzz', ['test/fuzz/main.ts'], ending, {
  sourcemap: true,
  plugins: [ways.plugin],
  // How many there are is known only when all is bundled.
  banner: {
    js: "import { workerData as turnbellOrder } from 'node:worker_threads'; const turnbellWays = (globalThis.turnbellWays = new Uint8Array(turnbellOrder.ways))",
  },
})

const report = createReport({ command, seed: values.seed, length })
const crew = createCrew({
  file: pathToFileURL(path.join(out, 'main.js')),
  settings: {
    // A multiple of four.
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
