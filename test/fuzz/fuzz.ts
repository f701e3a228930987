/**
 * The fuzzing loop: mutates a kept input and tries it. If the result shows new behaviour, it is kept as well. Works
 * like AFL and libFuzzer (https://llvm.org/docs/LibFuzzer.html), with one seed for all random choices.
 */
import { seededRandom } from '../support/fakes/fake-clock.ts'
import type { Coverage } from './coverage/coverage.ts'
import { Dice } from './dice.ts'
import { minimise } from './minimise.ts'
import { mutate, type Material } from './mutate.ts'
import { pollution } from './pollution.ts'
import { Broken, type Opened, type Target } from './target.ts'

export interface Settings {
  /** Number of inputs, and the minimum number that are not seeds. */
  inputs: number
  changed_min: number
  seed: number
  /** Called before each input. Returns false when the time is over. */
  goOn(): boolean
  /** Called with each input before it is tried, for the monitor outside. */
  trying(input: Buffer): void
  /** Called immediately, because the next input may end the process. */
  found(crash: Crash): void
  /** Permanent inputs: each once made a target fail. */
  regressions: readonly Buffer[]
  /** Returns an empty directory for each world. */
  directory(): string
}

export interface Crash {
  /** The smallest known input with this failure. */
  input: Buffer
  error: unknown
  /** Whether it fails in a fresh world, without the earlier inputs. */
  alone: boolean
}

export interface Outcome {
  inputs: number
  ways: number
  corpus: number
  /** Number of distinct reported failures. */
  crashes: number
}

/** After this number of failures a target is abandoned, because more of them add no information. */
const CRASHES_MAX = 8
const CORPUS_MAX = 4_000
/** Node reports unhandled rejections only between two ticks of the event loop. */
const TICK_EVERY = 64
const BYTES_MAX = 16_384

export async function fuzz(target: Target, coverage: Coverage, settings: Settings): Promise<Outcome> {
  const random = seededRandom(settings.seed)
  const dice = new Dice(random)
  const world = new World(target, settings, random)
  const { seeds, broken_seeds = [] } = await world.open()
  const corpus: Buffer[] = [...seeds, ...broken_seeds].map((seed) => Buffer.from(seed))
  const material: Material = {
    dice,
    another: () => dice.pick(corpus),
    words: [...new Set([...(target.words ?? []), ...wordsIn(corpus)])],
    bytes_max: target.bytes_max ?? BYTES_MAX,
  }
  const crashes = new Set<string>()
  let inputs = 0
  let last: Buffer = Buffer.alloc(0)

  const crashed = async (input: Buffer, error: unknown) => {
    const key = keyOf(error)
    if (crashes.has(key)) return
    crashes.add(key)
    settings.found(await examined(world, input, error))
  }

  const tried = async (input: Buffer): Promise<boolean> => {
    inputs += 1
    last = input
    coverage.clear()
    const found = await world.attempt(input)
    if ('outcome' in found) return coverage.learn(found.outcome)
    await crashed(input, found.error)
    await world.open()
    return false
  }

  const first = settings.inputs === 0 ? settings.regressions : [...settings.regressions, ...corpus.slice()]
  for (const input of first) await tried(input)
  const until = Math.max(settings.inputs, inputs + settings.changed_min)
  while (inputs < until && crashes.size < CRASHES_MAX && settings.goOn()) {
    const input = mutate(chosen(corpus, dice), material)
    if (!(await tried(input))) continue
    if (corpus.length < CORPUS_MAX) corpus.push(input)
    else corpus[dice.under(CORPUS_MAX)] = input
  }
  const late = await world.close()
  if (late !== null) await crashed(last, late.error)
  await world.close()
  return { inputs, ways: coverage.ways, corpus: corpus.length, crashes: crashes.size }
}

/** Prefers newer inputs, because their neighbourhood is explored least. */
function chosen(corpus: readonly Buffer[], dice: Dice): Buffer {
  const from = dice.once(2) ? Math.floor(corpus.length * 0.8) : 0
  return corpus[from + dice.under(corpus.length - from)] as Buffer
}

class World {
  private opened: Opened | null = null
  private readonly target: Target
  private readonly settings: Settings
  private readonly random: ReturnType<typeof seededRandom>
  private readonly loose: unknown[] = []
  private attempts = 0
  private readonly onLoose = (reason: unknown) => void this.loose.push(reason)

  constructor(target: Target, settings: Settings, random: ReturnType<typeof seededRandom>) {
    this.target = target
    this.settings = settings
    this.random = random
  }

  /** Opens a fresh world; pending failures of the previous one are reported or have no known input. */
  async open(): Promise<Opened> {
    await this.close()
    process.on('unhandledRejection', this.onLoose)
    process.on('uncaughtException', this.onLoose)
    this.attempts = 0
    this.opened = await this.target.open({ random: this.random, directory: this.settings.directory() })
    return this.opened
  }

  private tick(): Promise<void> {
    return new Promise((tick) => setImmediate(tick))
  }

  /**
   * Returns the unhandled rejections since the last check or caused by closing, whose input is unknown; null without
   * any.
   */
  async close(): Promise<Late | null> {
    const { opened } = this
    if (opened === null) return null
    this.opened = null
    await Promise.resolve(opened.close?.()).catch(this.onLoose)
    await this.tick()
    const late = this.loose.length === 0 ? null : { error: this.loose[0] }
    process.off('unhandledRejection', this.onLoose)
    process.off('uncaughtException', this.onLoose)
    this.loose.length = 0
    return late
  }

  /** Throws pending failures of the previous world. */
  private async renew(): Promise<void> {
    const late = await this.close()
    await this.open()
    if (late !== null) throw late.error
  }

  /** Unhandled rejections are checked every few inputs, or at once. */
  async attempt(input: Buffer, seen: 'now and then' | 'at once' = 'now and then'): Promise<Found> {
    this.settings.trying(input)
    const opened = this.opened ?? (await this.open())
    try {
      const answer = opened.attempt(input)
      const outcome = typeof answer === 'string' ? answer : await answer
      this.attempts += 1
      if (seen === 'at once' || this.attempts % TICK_EVERY === 0) await this.tick()
      if (this.loose.length > 0) throw this.loose[0]
      const touched = pollution()
      if (touched !== null) throw new Broken(`${touched} was changed for all objects`)
      if (this.attempts >= (opened.lasts ?? Infinity)) await this.renew()
      return { outcome }
    } catch (error) {
      return { error }
    }
  }
}

type Late = { error: unknown }
type Found = { outcome: string } | { error: unknown }

async function examined(world: World, input: Buffer, error: unknown): Promise<Crash> {
  const key = keyOf(error)
  const fails = async (smaller: Buffer) => {
    const found = await world.attempt(smaller, 'at once')
    return 'error' in found && keyOf(found.error) === key
  }
  // A world costs far more than an input, so smaller inputs are tried in the same world and only the last one again in
  // a fresh one.
  await world.open()
  if (!(await fails(input))) return { input, error, alone: false }
  const smallest = await minimise(input, fails)
  await world.open()
  return { input: (await fails(smallest)) ? smallest : input, error, alone: true }
}

/** Failures at the same source location count as one, whatever the input. */
function keyOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error).slice(0, 80)
  const at = error.stack
    ?.split('\n')
    .find((line) => line.trim().startsWith('at ') && !line.includes('insist'))
  const said = error.message.slice(0, 60).replaceAll(/[0-9a-f]{6,}|\d+/g, '#')
  return `${error.name} ${error instanceof Broken ? said : ''} ${at ?? said}`
}

const WORD = /[A-Za-z_$][\w.$:/-]{1,39}/g
const WORDS_MAX = 400

function wordsIn(corpus: readonly Buffer[]): string[] {
  const words = new Set<string>()
  for (const input of corpus) for (const [word] of input.toString().matchAll(WORD)) words.add(word)
  return [...words].slice(0, WORDS_MAX)
}
