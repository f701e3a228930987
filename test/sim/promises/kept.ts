/** Stores the results of a long run in a file, so that a killed run continues where it stopped. */
import { createHash } from 'node:crypto'
import fs from 'node:fs'
import { z } from 'zod'
import { numbersIn, rangesOf } from '../ranges.ts'
import type { SimulationResult } from '../simulate.ts'

export interface KeptResult extends SimulationResult {
  /** The command and broken promise of a shortened failing run. */
  shrunk?: string | undefined
}

export interface Kept {
  /** Seeds whose runs broke no promise. */
  passed: ReadonlySet<number>
  /** Number of performed actions in all passed runs. */
  counts: Readonly<Record<string, number>>
  /** Failures by seed. */
  broken: ReadonlyMap<number, KeptResult>
  /** Whether the file belonged to different code, so that its results were discarded. */
  forgotten: boolean
  /** Whether the discarded results contained failing seeds; they were moved to `FILE.old`. */
  set_aside: boolean
  /** Adds a result; it replaces an earlier failure of the same seed. */
  add(result: KeptResult): void
}

/** Identifies the run that results belong to. */
export interface KeptOf {
  steps: number
  only?: ReadonlySet<number> | undefined
}

const Head = z.object({ code: z.string(), steps: z.int(), only: z.array(z.int()).nullable() })
type Head = z.infer<typeof Head>

const Counts = z.record(z.string(), z.number())
const Passed = z.object({ passed: z.string(), counts: Counts })
const Result = z.object({
  seed: z.int(),
  steps: z.int(),
  broken: z.object({ promise: z.string(), detail: z.string(), step: z.int() }).nullable(),
  counts: Counts,
  shrunk: z.string().optional(),
})
const Line = z.union([Passed, Result])

/**
 * Opens the file of results. It consists of JSON lines: `{code, steps, only}`, `{passed, counts}`, then one result
 * each. `code` is a digest of the bundle and its package versions; results of different code are discarded, and
 * failures among them are first moved to `FILE.old`. Passed seeds are merged when the file is opened, so a finished
 * long run takes a few hundred bytes. An incomplete last line is discarded. Stores nothing if `file` is undefined.
 * Throws if the file is damaged, is not a file of results, or has a different number of steps; it is then left
 * unchanged.
 */
export function openKept(file: string | undefined, bundle: string, run: KeptOf): Kept {
  if (file === undefined) return { ...nothing(), forgotten: false, set_aside: false, add: () => undefined }
  const head = headOf(bundle, run)
  const before = textIn(file)
  const [first = '', ...lines] = before.slice(0, before.lastIndexOf('\n') + 1).split('\n')
  const old = before === '' ? head : headIn(first)
  if (old === null) throw new Error(`--keep: ${file} is something else`)
  if (optionsOf(old) !== optionsOf(head))
    throw new Error(
      `--keep: ${file} is of ${optionsOf(old)}, not of ${optionsOf(head)}: name another file, or remove it`,
    )
  const forgotten = old.code !== head.code
  const set_aside = forgotten && lines.some((line) => line.includes('"broken":{'))
  const kept = forgotten ? nothing() : readLines(file, lines)
  const written = [head, ...linesOf(kept)]
  writing(file, () => {
    fs.writeFileSync(`${file}.new`, written.map((line) => `${JSON.stringify(line)}\n`).join(''))
    if (set_aside) fs.renameSync(file, `${file}.old`)
    fs.renameSync(`${file}.new`, file)
  })
  const add = (result: KeptResult) =>
    writing(file, () => fs.appendFileSync(file, `${JSON.stringify(result)}\n`))
  return { ...kept, forgotten, set_aside, add }
}

/** Returns an empty text if the file does not exist. */
function textIn(file: string): string {
  try {
    return fs.readFileSync(file, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return ''
    throw new Error(`--keep: ${file} cannot be read: ${(error as Error).message}`, { cause: error })
  }
}

function writing(file: string, write: () => void): void {
  try {
    write()
  } catch (error) {
    throw new Error(`--keep: ${file} cannot be written: ${(error as Error).message}`, { cause: error })
  }
}

export function addCounts(to: Record<string, number>, counts: Readonly<Record<string, number>>): void {
  for (const [name, count] of Object.entries(counts)) to[name] = (to[name] ?? 0) + count
}

function headOf(bundle: string, { steps, only }: KeptOf): Head {
  const [code_text = ''] = fs.readFileSync(bundle, 'utf8').split('//# sourceMappingURL', 1)
  const code = createHash('sha256').update(code_text).digest('hex')
  return { code, steps, only: only === undefined ? null : [...only].toSorted((a, b) => a - b) }
}

function headIn(line: string): Head | null {
  try {
    return Head.parse(JSON.parse(line))
  } catch {
    return null
  }
}

function optionsOf({ steps, only }: Head): string {
  return `--steps ${steps}${only === null ? '' : ` --only ${rangesOf(only)}`}`
}

interface Found {
  passed: Set<number>
  counts: Record<string, number>
  broken: Map<number, KeptResult>
}

function nothing(): Found {
  return { passed: new Set(), counts: {}, broken: new Map() }
}

function readLines(file: string, lines: readonly string[]): Found {
  const found = nothing()
  for (const [at, text] of lines.entries()) {
    if (text === '') continue
    try {
      takeIn(found, Line.parse(JSON.parse(text)))
    } catch (cause) {
      throw new Error(`--keep: line ${at + 2} of ${file} is damaged: mend it, or take it out`, { cause })
    }
  }
  // A seed that broke a promise once counts as failed.
  for (const seed of found.broken.keys()) found.passed.delete(seed)
  return found
}

function takeIn({ passed, counts, broken }: Found, line: z.infer<typeof Line>): void {
  if ('seed' in line && line.broken !== null) {
    broken.set(line.seed, line)
    return
  }
  const seeds = 'seed' in line ? [line.seed] : numbersIn(line.passed, Number.MAX_SAFE_INTEGER)
  // A seed recorded by two runs counts once, and their combined counts cannot be separated.
  const known = seeds.filter((seed) => passed.has(seed))
  if (known.length === seeds.length) return
  if (known.length > 0) throw new Error(`${rangesOf(known)} stands there twice, once with others`)
  for (const seed of seeds) passed.add(seed)
  addCounts(counts, line.counts)
}

function linesOf({ passed, counts, broken }: Found): unknown[] {
  const together = { passed: rangesOf([...passed].toSorted((a, b) => a - b)), counts }
  return [...(passed.size === 0 ? [] : [together]), ...broken.values()]
}
