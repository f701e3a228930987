/**
 * Runs through the recorded file calls, builds the possible states after a crash at each one, and checks what the next
 * start recovers.
 */
import fs from 'node:fs'
import { seededRandom } from '../support/fakes/fake-clock.ts'
import { startRecordedHub, withSaid, type Recording } from './hub-process.ts'
import { judge, type Crash } from './judge.ts'
import { RecordedFiles, treeKey, type Choose, type Tree } from './recorded-files.ts'
import { build, recover, timeMatters, type Recovered } from './recovery.ts'
import { placesIn } from './setting.ts'
import { beginningOf, boundsAfter, type Bounds, type Story } from './story.ts'
import { readTrace, type FileCall } from './trace.ts'

/**
 * The state after a crash. `killed`: all calls so far. `halfway`: all calls, except the second half of what the last
 * one writes. `power`: only synced data. `torn-N`: synced data and a part of the rest. A `+` adds a crash during the
 * next start: `killed+12/power` crashes after the twelfth call of that start.
 */
export type Variant = string

export interface Failure {
  /** Number of calls that had completed. */
  at: number
  call: string
  variant: Variant
  wrong: string[]
}

export interface Tried {
  /** Number of calls that change or sync something, by kind. */
  points: Record<string, number>
  /** Number of calls after which a crash was tried. */
  points_tried: number
  /** Number of starts with a crash during the start, and number of their points. */
  starts: number
  points_of_starts: number
  /** Number of crash states. */
  states: number
  /** Number of states that were started; the others were identical to a recent one. */
  recovered: number
  failures: Failure[]
}

export interface Options {
  seed: number
  /** Number of states for each point in which a part of the unsynced data survived. */
  torn: number
  /** Selects some of the points. */
  wanted?: (at: number) => boolean
  /** Selects the crashes whose next start is crashed, too. `program` is the bundle of `recorded-process.ts`. */
  starts?: {
    program: string
    trace: string
    wanted: (at: number) => boolean
    /** Tries only every n-th of its points. */
    every?: number
  }
  only?: Variant
  /** Called with the progress after each point, and after each point of a crashed start. */
  onTried?: (tried: Tried) => void
}

export async function explore(story: Story, options: Options): Promise<Tried> {
  return new Exploration(story, options).all()
}

class Exploration {
  private readonly story: Story
  private readonly options: Options
  /** Results of recent states; identical states are close to each other. */
  private readonly known = new Map<string, Recovered | Error>()
  private readonly tried: Tried = {
    ...{ points: {}, points_tried: 0, starts: 0, points_of_starts: 0, states: 0, recovered: 0, failures: [] },
  }

  constructor(story: Story, options: Options) {
    this.story = story
    this.options = options
  }

  async all(): Promise<Tried> {
    const { story, tried, options } = this
    const { wanted = () => true, starts, onTried } = options
    for (const kind of story.trace.calls.map(pointOf))
      if (kind !== null) tried.points[kind] = (tried.points[kind] ?? 0) + 1
    const files = beginningOf(story)
    for (const [index, call] of story.trace.calls.entries()) {
      const at = index + 1
      const kind = pointOf(call)
      const chosen = kind !== null && wanted(at)
      const name = (variant: Variant) => ({ at, call: describe(call), variant })
      if (chosen) await this.halfway(files, call, boundsAfter(story, index), name, false)
      files.apply(call)
      const bounds = boundsAfter(story, at)
      if (chosen) {
        await this.crashes(files, at, bounds, name, false)
        tried.points_tried += 1
        onTried?.(tried)
      }
      if (kind !== null && starts?.wanted(at) === true) {
        await this.start('killed', files.copy(), at, bounds, name)
        await this.start('power', new RecordedFiles(story.root, files.withoutPower()), at, bounds, name)
      }
    }
    return tried
  }

  private async halfway(
    files: RecordedFiles,
    call: FileCall,
    bounds: Bounds,
    name: Named,
    starting: boolean,
  ): Promise<void> {
    if (call.do !== 'write') return
    const half = files.copy()
    half.apply({ ...call, base64: firstHalf(call.base64) })
    await this.attempt(name('halfway'), half.killed(), { bounds, all_written: true, starting })
  }

  private async crashes(
    files: RecordedFiles,
    at: number,
    bounds: Bounds,
    name: Named,
    starting: boolean,
  ): Promise<void> {
    await this.attempt(name('killed'), files.killed(), { bounds, all_written: true, starting })
    const crash: Crash = { bounds, all_written: false, starting }
    await this.attempt(name('power'), files.withoutPower(), crash)
    for (let number = 1; number <= this.options.torn; number += 1) {
      const random = seededRandom(this.options.seed * 1_000_003 + at * 101 + number)
      const choose: Choose = (max) => Math.floor(random.next() * (max + 1))
      await this.attempt(name(`torn-${number}`), files.torn(choose), crash)
    }
  }

  /** Starts a hub on the files after a crash, stops it, and crashes after each of its own calls. */
  private async start(
    variant: Variant,
    files: RecordedFiles,
    at: number,
    bounds: Bounds,
    nameOfFirst: Named,
  ): Promise<void> {
    const { story, options, tried } = this
    const { program, trace, every = 1 } = options.starts as NonNullable<Options['starts']>
    if (options.only !== undefined && !options.only.startsWith(`${variant}+`)) return
    build(story.root, files.killed())
    fs.rmSync(trace, { force: true })
    const recording: Recording = { program, root: story.root, trace }
    await withSaid(recording, async () => {
      const hub = await startRecordedHub(recording, bounds.now_ms)
      await hub.order({ do: 'rest' })
      await hub.order({ do: 'stop' })
    })
    tried.starts += 1
    for (const [index, call] of readTrace(trace).calls.entries()) {
      const name: Named = (second) => ({
        ...nameOfFirst(`${variant}+${index + 1}/${second}`),
        call: describe(call),
      })
      const counts = pointOf(call) !== null
      if (counts) tried.points_of_starts += 1
      const chosen = counts && tried.points_of_starts % every === 0
      if (chosen) await this.halfway(files, call, bounds, name, true)
      files.apply(call)
      if (!chosen) continue
      await this.crashes(files, at + index, bounds, name, true)
      options.onTried?.(tried)
    }
  }

  private async attempt(named: Omit<Failure, 'wrong'>, tree: Tree, crash: Crash): Promise<void> {
    const { only } = this.options
    if (only !== undefined && only !== named.variant) return
    this.tried.states += 1
    const recovered = await this.recovered(tree, crash.bounds)
    const wrong = recovered instanceof Error ? [String(recovered.stack)] : judge(this.story, crash, recovered)
    if (wrong.length > 0) this.tried.failures.push({ ...named, wrong })
  }

  private async recovered(tree: Tree, { now_ms }: Bounds): Promise<Recovered | Error> {
    const { root, receipts } = this.story
    const key = `${now_ms} ${treeKey(tree, { name: isNoLog, time: timeMatters })}`
    const before = this.known.get(key)
    if (before !== undefined) return before
    this.tried.recovered += 1
    build(root, tree)
    const recovered = await recover(placesIn(root), now_ms, receipts).catch((error: unknown) =>
      error instanceof Error ? error : new Error(String(error)),
    )
    this.known.set(key, recovered)
    const [oldest] = this.known.keys()
    if (this.known.size > KNOWN_MAX && oldest !== undefined) this.known.delete(oldest)
    return recovered
  }
}

const KNOWN_MAX = 20

type Named = (variant: Variant) => Omit<Failure, 'wrong'>

const isNoLog = (name: string) => !name.includes('/home/logs/')

function firstHalf(base64: string): string {
  const bytes = Buffer.from(base64, 'base64')
  return bytes.subarray(0, bytes.length >> 1).toString('base64')
}

/** Returns the kind of a call after which a crash can matter; null for a call that changes nothing. */
export function pointOf(call: FileCall): string | null {
  if (call.do !== 'open') return KINDS[call.do]
  return call.made ? 'creations' : call.emptied ? 'truncates' : null
}

const KINDS: Record<Exclude<FileCall['do'], 'open'>, string> = {
  write: 'writes',
  sync: 'syncs',
  rename: 'renames',
  truncate: 'truncates',
  remove: 'removes',
  link: 'links',
  make_directory: 'directories made',
  remove_directory: 'directories removed',
}

function describe(call: FileCall): string {
  const { base64: _, ...rest } = { base64: '', ...call }
  return JSON.stringify(rest)
}
