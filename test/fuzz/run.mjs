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
import { Worker } from 'node:worker_threads'
import { bundled } from '../support/bundled.mjs'
import { commandOptions } from '../support/command-options.mjs'
import { createEnding } from '../support/ending.mjs'
import { instrument } from './instrument.mjs'
import { createReport } from './report.mjs'
import { TARGET_NAMES } from './targets/names.mjs'

/** One input may take so long on a machine that does other things, too. */
const HANG_MS = 30_000
const MEMORY_MB = 1_024
/** The longest that any target takes: one that hangs is kept whole. */
const INPUT_BYTES_MAX = 4_194_304

const HELP = `usage: npm run fuzz -- [TARGET…] [options]

  --inputs N    over all targets together (1000000, or as many as fit where minutes are given); while
                there is time each target is tried with a hundred beside its seeds
  --seed N      of all chances (1)
  --minutes N   end after so long, whatever is left
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
    input: { type: 'string' },
  },
  numbers: { inputs: 1, seed: 0, minutes: 1 },
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

const beats = new Int32Array(new SharedArrayBuffer(8))
const now = new Uint8Array(new SharedArrayBuffer(INPUT_BYTES_MAX))
const report = createReport({ command, seed: values.seed, length })
let current = null
let current_from = 0
/** Targets that were not begun. */
let waiting = []
/** It is known why the thread ends before it is done. */
let explained = false

const worker = new Worker(pathToFileURL(path.join(out, 'main.js')), {
  // Places in the sources cost time at each error; a crash that is looked at has them.
  execArgv: ['--no-warnings', ...(values.input === undefined ? [] : ['--enable-source-maps'])],
  resourceLimits: { maxOldGenerationSizeMb: MEMORY_MB, stackSizeMb: 1 },
  workerData: {
    names: positionals,
    // A multiple of four.
    ways: (ways.count() + 4) & ~3,
    inputs,
    seed: values.seed,
    minutes: values.minutes ?? Infinity,
    only: values.input === undefined ? null : fs.readFileSync(values.input),
    corpus: path.join(import.meta.dirname, 'corpus'),
    home,
    beats,
    now,
  },
})

let beat = 0
let beat_at = performance.now()
const watch = setInterval(() => {
  const latest = Atomics.load(beats, 0)
  if (latest !== beat) {
    beat = latest
    beat_at = performance.now()
  } else if (latest > 0 && performance.now() - beat_at > HANG_MS) {
    explained = true
    crash(tried(), `nothing came of it in ${HANG_MS} ms`, true)
    void worker.terminate()
  }
}, 1_000)

worker.on('message', (told) => {
  if (told.about === 'chosen') waiting = told.names
  else if (told.about === 'begin') {
    current = told
    current_from = Atomics.load(beats, 0)
    waiting.shift()
  } else if (told.about === 'crash') crash(told.input, told.error, told.alone)
  else if (told.about === 'failed') {
    explained = true
    process.stderr.write(`${told.error}\n`)
    process.exitCode = 3
  } else if (told.about === 'target') {
    current = null
    report.target(told)
  }
})
worker.on('error', (error) => {
  // The heap that a target may fill is bounded; so a parser that does not bound what it keeps ends here.
  explained = true
  crash(tried(), String(error?.stack ?? error), false)
})
ending.onInterrupt(() => worker.terminate())
worker.on('exit', (code) => {
  clearInterval(watch)
  if (current !== null) {
    if (!explained && !ending.interrupted) crash(tried(), `it ended the thread with ${code}`, true)
    report.unfinished(current.name, Atomics.load(beats, 0) - current_from)
  }
  for (const name of waiting) report.unfinished(name, 0)
  report.total()
  if (report.crashes > 0) process.exitCode = 1
})

function tried() {
  return Buffer.from(now.subarray(0, Atomics.load(beats, 1)))
}

function crash(input, error, alone) {
  report.crash(current ?? { name: 'nothing', promise: 'no target had begun' }, input, error, alone)
}
