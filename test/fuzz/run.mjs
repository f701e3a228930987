/**
 * `npm run fuzz`: fuzzes what faces the outside.
 *
 * So many inputs over all targets, a line for each target, and the total. An input that breaks a promise is printed, kept in
 * the temporary directory, and tried again with `--input`. Exits with 1 if there was one. Found and mended, it becomes a
 * file in `corpus/TARGET/`, which every run begins with.
 */
import { createHash } from 'node:crypto'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import { Worker } from 'node:worker_threads'
import { bundled } from '../support/bundled.mjs'
import { commandOptions } from '../support/command-options.mjs'
import { createEnding } from '../support/ending.mjs'
import { instrument } from './instrument.mjs'

/** One input may take so long on a machine that does other things, too. */
const HANG_MS = 30_000
const MEMORY_MB = 1_024
const SHOWN_BYTES = 600

const HELP = `usage: node test/fuzz/run.mjs [TARGET…] [options]

  --inputs N    over all targets together (1000000, or as many as fit where minutes are given); each
                target is tried with a hundred beside its seeds
  --seed N      of all chances (1)
  --minutes N   end after so long, whatever is left
  --input FILE  only this input, as a crash has printed it

Prints a line for each target and the total. Exit 1 when an input broke a promise; it is kept then.
`

const { values, positionals } = commandOptions(HELP, {
  names: true,
  options: {
    inputs: { type: 'string' },
    seed: { type: 'string', default: '1' },
    minutes: { type: 'string' },
    input: { type: 'string' },
  },
  numbers: { inputs: 1, seed: 0, minutes: 1 },
  files: ['input'],
})

const inputs = values.inputs ?? (values.minutes === undefined ? 1_000_000 : Infinity)
const length = Number.isFinite(inputs) ? `--inputs ${inputs}` : `--minutes ${values.minutes}`

const root = path.resolve(import.meta.dirname, '../..')
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
const now = new Uint8Array(new SharedArrayBuffer(1 << 20))
const began = performance.now()
const total = { inputs: 0, crashes: 0 }
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
  else if (told.about === 'unknown') {
    process.stderr.write(`there is no target ${told.name}; there are ${told.known.join(', ')}\n`)
    process.exit(2)
  } else if (told.about === 'failed') {
    explained = true
    process.stderr.write(`${told.error}\n`)
    process.exitCode = 2
  } else if (told.about === 'target') {
    current = null
    total.inputs += told.inputs
    const rate = Math.round(told.inputs / (told.took_ms / 1000))
    line(
      told.name,
      told.inputs,
      `${told.ways} ways`,
      `${told.corpus} kept`,
      `${told.crashes} crashes`,
      `${rate}/s`,
    )
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
    const begun = Atomics.load(beats, 0) - current_from
    total.inputs += begun
    line(current.name, begun, 'not done')
  }
  for (const name of waiting) line(name, 0, 'not begun')
  const seconds = Math.round((performance.now() - began) / 1000)
  line('total', total.inputs, `seed ${values.seed}`, `${seconds} s`, `${total.crashes} crashes`)
  if (total.crashes > 0) process.exitCode = 1
})

function line(name, inputs, ...rest) {
  process.stdout.write(
    `${name.padEnd(20)} ${String(inputs).padStart(9)} inputs  ${rest.map((one) => one.padStart(11)).join(' ')}\n`,
  )
}

function tried() {
  return Buffer.from(now.subarray(0, Atomics.load(beats, 1)))
}

function crash(input, error, alone) {
  total.crashes += 1
  const { name, promise } = current ?? { name: 'nothing', promise: 'no target had begun' }
  const bytes = Buffer.from(input)
  const kept = path.join(
    os.tmpdir(),
    `turnbell-fuzz-${name}-${createHash('sha1').update(bytes).digest('hex').slice(0, 8)}`,
  )
  fs.writeFileSync(kept, bytes)
  const shown = JSON.stringify(bytes.toString('latin1').slice(0, SHOWN_BYTES))
  const again = alone
    ? `node test/fuzz/run.mjs ${name} --input ${kept}`
    : `it needs the inputs before it: node test/fuzz/run.mjs ${name} --seed ${values.seed} ${length}`
  process.stdout.write(
    `CRASH ${name}: ${error}\n  promise: ${promise}\n  input (${bytes.length} bytes): ${shown}\n  again: ${again}\n`,
  )
}
