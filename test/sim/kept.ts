/** What a long run has found out so far, in a file: one that was killed goes on where it was. */
import { createHash } from 'node:crypto'
import fs from 'node:fs'
import { spelled, stepsIn } from './shrink.ts'
import type { SimulationResult } from './simulate.ts'

export interface KeptResult extends SimulationResult {
  /** What is said of a failing run that was made shorter. */
  shrunk?: string
}

export interface Kept {
  /** Seeds that broke nothing, and what was done in all of them together. */
  passed: Passed
  /** What broke, by seed. */
  broken: ReadonlyMap<number, KeptResult>
  /** How many seeds there were of other code. */
  forgotten: number
  /** In the place of what was noted of that seed before. */
  add(result: KeptResult): void
}

export interface Passed {
  seeds: ReadonlySet<number>
  counts: Readonly<Record<string, number>>
}

const NOTHING: Passed = { seeds: new Set(), counts: {} }

/** What makes results those of another run. */
export interface KeptOf {
  steps: number
  only?: ReadonlySet<number> | undefined
}

/**
 * JSON lines: `{code, steps, only}`, `{passed, counts}`, then a result each. `code` is a digest of the bundle that simulates:
 * what other code had found does not count, and is forgotten. Seeds that passed are written together as soon as the file is
 * opened again, so a long run that was done fits into a few hundred bytes. Half a line at the end is forgotten as well. Keeps
 * nothing where no file is named; throws where the file is no such file, or of other steps, and leaves it as it is.
 */
export function openKept(file: string | undefined, bundle: string, { steps, only }: KeptOf): Kept {
  if (file === undefined) return { passed: NOTHING, broken: new Map(), forgotten: 0, add: () => undefined }
  const [code_text = ''] = fs.readFileSync(bundle, 'utf8').split('//# sourceMappingURL', 1)
  const code = createHash('sha256').update(code_text).digest('hex')
  const head: Head = { code, steps, only: only === undefined ? null : [...only] }
  const before = fs.existsSync(file) ? fs.readFileSync(file, 'utf8') : ''
  const [first = '', ...lines] = before
    .slice(0, before.lastIndexOf('\n') + 1)
    .trimEnd()
    .split('\n')
  const old = before === '' ? head : headIn(first)
  if (old === null) throw new Error(`--keep: ${file} is something else`)
  const { passed, broken } = found(lines)
  const seeds = passed.seeds.size + broken.size
  if (optionsOf(old) !== optionsOf(head))
    throw new Error(
      `--keep: ${file} has ${seeds} seeds of ${optionsOf(old)}, not of ${optionsOf(head)}: name another file, or remove it`,
    )
  const kept =
    old.code === code
      ? { passed, broken, forgotten: 0 }
      : { passed: NOTHING, broken: new Map<number, KeptResult>(), forgotten: seeds }
  const written = [head, ...writtenOf(kept.passed), ...kept.broken.values()]
  fs.writeFileSync(`${file}.new`, written.map((line) => `${JSON.stringify(line)}\n`).join(''))
  fs.renameSync(`${file}.new`, file)
  return { ...kept, add: (result) => fs.appendFileSync(file, `${JSON.stringify(result)}\n`) }
}

interface Together {
  /** As `--only` says steps. */
  passed: string
  counts: Record<string, number>
}

function writtenOf({ seeds, counts }: Passed): Together[] {
  return seeds.size === 0 ? [] : [{ passed: spelled([...seeds].toSorted((a, b) => a - b)), counts }]
}

function found(lines: readonly string[]): { passed: Passed; broken: Map<number, KeptResult> } {
  const seeds = new Set<number>()
  const counts: Record<string, number> = {}
  const broken = new Map<number, KeptResult>()
  for (const text of lines) {
    const line = JSON.parse(text) as Together | KeptResult
    if ('passed' in line) {
      for (const seed of stepsIn(line.passed)) seeds.add(seed)
      addCounts(counts, line.counts)
    } else if (line.broken !== null) broken.set(line.seed, line)
    else if (!seeds.has(line.seed)) {
      seeds.add(line.seed)
      addCounts(counts, line.counts)
    }
  }
  return { passed: { seeds, counts }, broken }
}

export function addCounts(to: Record<string, number>, counts: Readonly<Record<string, number>>): void {
  for (const [name, count] of Object.entries(counts)) to[name] = (to[name] ?? 0) + count
}

interface Head {
  code: string
  steps: number
  only: number[] | null
}

function headIn(line: string): Head | null {
  return line.startsWith('{"code":') ? (JSON.parse(line) as Head) : null
}

function optionsOf({ steps, only }: Head): string {
  return `--steps ${steps}${only === null ? '' : ` --only ${spelled(only)}`}`
}
