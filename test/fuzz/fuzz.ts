/**
 * The loop: an input that is kept is changed a little and tried; where that shows something new, it is kept too, and
 * changed further. As AFL and libFuzzer do it (https://llvm.org/docs/LibFuzzer.html), with one seed for all its chance.
 */
import { seededRandom } from '../support/fake-clock.ts'
import type { Coverage } from './coverage.ts'
import { Dice } from './dice.ts'
import { minimise } from './minimise.ts'
import { mutate, type Material } from './mutate.ts'
import { pollution } from './pollution.ts'
import { Broken, type Opened, type Target } from './target.ts'

export interface Settings {
  /** All together, and how many of them at least are no seeds. */
  inputs: number
  changed_min: number
  seed: number
  /** Told before each input. Answers false where time is over. */
  goOn(): boolean
  /** For whoever watches from outside: this is tried now. */
  trying(input: Buffer): void
  /** Told at once: what follows may end the process. */
  found(crash: Crash): void
  /** Kept for good: each once made a target break. */
  regressions: readonly Buffer[]
  /** An empty directory for each world. */
  directory(): string
}

export interface Crash {
  /** The smallest input found that fails so. */
  input: Buffer
  error: unknown
  /** It fails in a world of its own, without the inputs before it. */
  alone: boolean
}

export interface Outcome {
  inputs: number
  ways: number
  corpus: number
  /** Of different places, each of which was told. */
  crashes: number
}

/** Beyond these a target is broken, and more of the same helps nobody. */
const CRASHES_MAX = 8
const CORPUS_MAX = 4_000
/** What was rejected without anybody waiting for it is told by Node only between two turns of its loop. */
const TURN_EVERY = 64
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

/** The newest ones more often: what is behind them was looked at least. */
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

  /** A fresh one; what the one before left behind is known, or nobody's. */
  async open(): Promise<Opened> {
    await this.close()
    process.on('unhandledRejection', this.onLoose)
    process.on('uncaughtException', this.onLoose)
    this.attempts = 0
    this.opened = await this.target.open({ random: this.random, directory: this.settings.directory() })
    return this.opened
  }

  private turn(): Promise<void> {
    return new Promise((turn) => setImmediate(turn))
  }

  /** Answers what was rejected since the last look or by closing, and by whom nobody knows; null where nothing was. */
  async close(): Promise<Late | null> {
    const { opened } = this
    if (opened === null) return null
    this.opened = null
    await Promise.resolve(opened.close?.()).catch(this.onLoose)
    await this.turn()
    const late = this.loose.length === 0 ? null : { error: this.loose[0] }
    process.off('unhandledRejection', this.onLoose)
    process.off('uncaughtException', this.onLoose)
    this.loose.length = 0
    return late
  }

  /** Throws what the one before left behind. */
  private async renew(): Promise<void> {
    const late = await this.close()
    await this.open()
    if (late !== null) throw late.error
  }

  /** What nobody waits for is seen every so often, or at once. */
  async attempt(input: Buffer, seen: 'now and then' | 'at once' = 'now and then'): Promise<Found> {
    this.settings.trying(input)
    const opened = this.opened ?? (await this.open())
    try {
      const answer = opened.attempt(input)
      const outcome = typeof answer === 'string' ? answer : await answer
      this.attempts += 1
      if (seen === 'at once' || this.attempts % TURN_EVERY === 0) await this.turn()
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
  // A world costs far more than an input: a smaller one is tried in the same, and only the last again in its own.
  await world.open()
  if (!(await fails(input))) return { input, error, alone: false }
  const smallest = await minimise(input, fails)
  await world.open()
  return { input: (await fails(smallest)) ? smallest : input, error, alone: true }
}

/** Two failures of one place are one, whatever the input said. */
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
