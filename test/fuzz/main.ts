/**
 * Runs in a thread of the crew, which watches it and gives it one target after the other. Says what it found in messages: a
 * line for each target, and each crash.
 */
import fs from 'node:fs'
import path from 'node:path'
import { parentPort, workerData } from 'node:worker_threads'
import { Coverage } from './coverage.ts'
import { fuzz } from './fuzz.ts'
import type { Target } from './target.ts'
import { TARGETS } from './targets/all.ts'

interface Settings {
  seed: number
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

/** Null where nothing is left to do. */
type Order = {
  name: string
  /** Infinity for as many as fit. */
  inputs: number
  /** Infinity for as long as it takes. */
  milliseconds: number
} | null

declare global {
  /** What `instrument.mjs` puts into the bundle. */
  var turnbellWays: Uint8Array
}

const settings = workerData as Settings

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
  /** All there are, told before the first. */
  | { about: 'targets'; targets: Pick<Target, 'name' | 'promise' | 'share'>[] }
  | { about: 'crash'; input: Uint8Array; error: string; alone: boolean }
  /** The fuzzer itself. */
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
