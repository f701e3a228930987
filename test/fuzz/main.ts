/**
 * Runs in a thread of `run.mjs`, which watches it. Says what it found in messages: a line for each target, and each
 * crash.
 */
import fs from 'node:fs'
import path from 'node:path'
import { parentPort, workerData } from 'node:worker_threads'
import { Coverage } from './coverage.ts'
import { fuzz } from './fuzz.ts'
import type { Target } from './target.ts'
import { TARGETS } from './targets/all.ts'

interface Order {
  /** Which targets; all where it is empty. */
  names: string[]
  /** Over all of them; Infinity for as many as fit. */
  inputs: number
  seed: number
  /** For all of them; Infinity for as long as it takes. */
  minutes: number
  /** Only these bytes, tried once. */
  only: Uint8Array | null
  /** An empty directory for all that worlds leave. */
  home: string
  /** Where inputs are that once made a target break: a folder for each target. */
  corpus: string
  /** [how many inputs were begun, how long the one is that is tried now] */
  beats: Int32Array
  /** The input that is tried now, as far as it fits. */
  now: Uint8Array
}

declare global {
  /** What `instrument.mjs` puts into the bundle. */
  var turnbellWays: Uint8Array
}

const order = workerData as Order

/** However little is asked for, each target is tried with so many beside its seeds. */
const CHANGED_MIN = 100

export type Told =
  | {
      about: 'target'
      name: string
      inputs: number
      ways: number
      corpus: number
      crashes: number
      took_ms: number
    }
  /** In the order in which they are begun. */
  | { about: 'chosen'; names: string[] }
  | { about: 'begin'; name: string; promise: string }
  | { about: 'crash'; input: Uint8Array; error: string; alone: boolean }
  /** The fuzzer itself. */
  | { about: 'failed'; error: string }

const tell = (told: Told) => parentPort?.postMessage(told)

const chosen = TARGETS.filter(({ name }) => order.names.length === 0 || order.names.includes(name))
tell({ about: 'chosen', names: chosen.map(({ name }) => name) })
const shares = chosen.reduce((sum, { share }) => sum + share, 0)
try {
  for (const target of chosen) await run(target, target.share / shares)
} catch (error) {
  tell({ about: 'failed', error: String(error instanceof Error ? error.stack : error) })
}
process.exit()

async function run(target: Target, share: number): Promise<void> {
  const { name, promise } = target
  tell({ about: 'begin', name, promise })
  const began = performance.now()
  const until = began + order.minutes * 60_000 * share
  let worlds = 0
  const outcome = await fuzz(target, new Coverage(globalThis.turnbellWays), {
    inputs: order.only === null ? Math.ceil(order.inputs * share) : 0,
    changed_min: order.only === null ? CHANGED_MIN : 0,
    seed: order.seed,
    goOn: () => performance.now() < until,
    regressions: order.only === null ? regressionsOf(name) : [Buffer.from(order.only)],
    directory() {
      fs.rmSync(path.join(order.home, `${name}-${worlds}`), { recursive: true, force: true })
      worlds += 1
      const directory = path.join(order.home, `${name}-${worlds}`)
      fs.mkdirSync(directory, { mode: 0o700 })
      return directory
    },
    trying(input) {
      const length = Math.min(input.length, order.now.length)
      order.now.set(length === input.length ? input : input.subarray(0, length))
      Atomics.store(order.beats, 1, length)
      Atomics.add(order.beats, 0, 1)
    },
    found({ input, error, alone }) {
      tell({
        about: 'crash',
        input,
        alone,
        error: error instanceof Error ? String(error.stack) : String(error),
      })
    },
  })
  fs.rmSync(path.join(order.home, `${name}-${worlds}`), { recursive: true, force: true })
  tell({ about: 'target', name, ...outcome, took_ms: performance.now() - began })
}

function regressionsOf(name: string): Buffer[] {
  const directory = path.join(order.corpus, name)
  if (!fs.existsSync(directory)) return []
  return fs.readdirSync(directory).map((file) => fs.readFileSync(path.join(directory, file)))
}
