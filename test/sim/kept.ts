/** What a long run has found out so far, in a file: one that was killed goes on where it was. */
import { createHash } from 'node:crypto'
import fs from 'node:fs'
import { spelled } from './shrink.ts'
import type { SimulationResult } from './simulate.ts'

export interface KeptResult extends SimulationResult {
  /** What is said of a failing run that was made shorter. */
  shrunk?: string
}

export interface Kept {
  /** By seed. */
  results: ReadonlyMap<number, KeptResult>
  /** How many there were of other code. */
  forgotten: number
  /** In the place of what was noted of that seed before. */
  add(result: KeptResult): void
}

/** What makes results those of another run. */
export interface KeptOf {
  steps: number
  only?: ReadonlySet<number> | undefined
}

/**
 * JSON lines: `{code, steps, only}`, then a result each. `code` is a digest of the bundle that simulates: what other code
 * had found does not count, and is forgotten. Half a line at the end is forgotten as well. Keeps nothing where no file is
 * named; throws where the file is no such file, or of other steps, and leaves it as it is.
 */
export function openKept(file: string | undefined, bundle: string, { steps, only }: KeptOf): Kept {
  if (file === undefined) return { results: new Map(), forgotten: 0, add: () => undefined }
  const [code_text = ''] = fs.readFileSync(bundle, 'utf8').split('//# sourceMappingURL', 1)
  const code = createHash('sha256').update(code_text).digest('hex')
  const head: Head = { code, steps, only: only === undefined ? null : [...only] }
  const before = fs.existsSync(file) ? fs.readFileSync(file, 'utf8') : ''
  const [first = '', ...rest] = before.slice(0, before.lastIndexOf('\n') + 1).split('\n')
  const lines = rest.filter((line) => line !== '')
  const old = before === '' ? head : headIn(first)
  if (old === null) throw new Error(`--keep: ${file} is something else`)
  if (optionsOf(old) !== optionsOf(head))
    throw new Error(
      `--keep: ${file} has ${lines.length} seeds of ${optionsOf(old)}, not of ${optionsOf(head)}: name another file, or remove it`,
    )
  const found = old.code === code ? lines : []
  fs.writeFileSync(`${file}.new`, [JSON.stringify(head), ...found, ''].join('\n'))
  fs.renameSync(`${file}.new`, file)
  const results = found.map((line) => JSON.parse(line) as KeptResult)
  return {
    results: new Map(results.map((result) => [result.seed, result])),
    forgotten: lines.length - found.length,
    add: (result) => fs.appendFileSync(file, `${JSON.stringify(result)}\n`),
  }
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
