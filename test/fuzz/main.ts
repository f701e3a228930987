/**
 * Runs in a thread of the crew, which monitors it and assigns one target after another. Posts its results as messages:
 * one for each target and each crash.
 */
import fs from 'node:fs'
import path from 'node:path'
import { parentPort, workerData } from 'node:worker_threads'
import { Coverage } from './coverage/coverage.ts'
import { fuzz } from './fuzz.ts'
import type { Target } from './target.ts'
import { TARGETS } from './targets/all.ts'

interface Settings {
  seed: number
  /** Tries only these bytes, once. */
  only: Uint8Array | null
  /** An empty directory for the files of all worlds. */
  home: string
  /** Folder of regression inputs: one subfolder for each target. */
  corpus: string
  /** [number of started inputs, length of the current input] */
  beats: Int32Array
  /** The current input, truncated to the buffer. */
  now: Uint8Array
}

/** Null when no target is left. */
type Order = {
  name: string
  /** Infinity for no limit. */
  inputs: number
  /** Infinity for no limit. */
  milliseconds: number
} | null

declare global {
  /** Declared by the bundle that `instrument.mjs` makes. */
  var turnbellWays: Uint8Array
}

const settings = workerData as Settings

/** Minimum number of mutated inputs for each target, in addition to its seeds. */
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
  /** All targets, posted before the first one starts. */
  | { about: 'targets'; targets: Pick<Target, 'name' | 'promise' | 'share'>[] }
  | { about: 'crash'; input: Uint8Array; error: string; alone: boolean }
  /** An error of the fuzzer itself. */
  | { about: 'failed'; error: string }

const tell = (told: Told) => parentPort?.postMessage(told)

parentPort?.on('message', (order: Order) => {
  const target = TARGETS.find(({ name }) => name === order?.name)
  if (order === null || target === undefined) process.exit()
  run(target, order).catch((error: unknown) =>
    tell({ about: 'failed', error: String(error instanceof Error ? error.stack : error) }),
  )
})
tell({ about: 'targets', targets: TARGETS.map(({ name, promise, share }) => ({ name, promise, share })) })

async function run(target: Target, { inputs, milliseconds }: NonNullable<Order>): Promise<void> {
  const { name } = target
  const began = performance.now()
  const until = began + milliseconds
  let worlds = 0
  const outcome = await fuzz(target, new Coverage(globalThis.turnbellWays), {
    inputs: settings.only === null ? inputs : 0,
    changed_min: settings.only === null ? CHANGED_MIN : 0,
    seed: settings.seed,
    goOn: () => performance.now() < until,
    regressions: settings.only === null ? regressionsOf(name) : [Buffer.from(settings.only)],
    directory() {
      fs.rmSync(path.join(settings.home, `${name}-${worlds}`), { recursive: true, force: true })
      worlds += 1
      const directory = path.join(settings.home, `${name}-${worlds}`)
      fs.mkdirSync(directory, { mode: 0o700 })
      return directory
    },
    trying(input) {
      const length = Math.min(input.length, settings.now.length)
      settings.now.set(length === input.length ? input : input.subarray(0, length))
      Atomics.store(settings.beats, 1, length)
      Atomics.add(settings.beats, 0, 1)
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
  fs.rmSync(path.join(settings.home, `${name}-${worlds}`), { recursive: true, force: true })
  tell({ about: 'target', name, ...outcome, took_ms: performance.now() - began })
}

function regressionsOf(name: string): Buffer[] {
  const directory = path.join(settings.corpus, name)
  if (!fs.existsSync(directory)) return []
  return fs.readdirSync(directory).map((file) => fs.readFileSync(path.join(directory, file)))
}
