/** What a long run has found out so far, in a file: one that was killed goes on where it was. */
import { createHash } from 'node:crypto'
import fs from 'node:fs'
import type { SimulationResult } from './simulate.ts'

export interface Kept {
  /** By seed. */
  results: ReadonlyMap<number, SimulationResult>
  add(result: SimulationResult): void
}

/** What makes results those of another run. */
export interface KeptOf {
  steps: number
  only?: ReadonlySet<number> | undefined
}

/**
 * JSON lines: `{code, steps, only}`, then a result each. `code` is a digest of the bundle that simulates, so that what
 * other code had found does not count: a file that begins otherwise is begun anew. Half a line at its end is
 * forgotten. Keeps nothing where no file is named; throws where the file is no such file.
 */
export function openKept(file: string | undefined, bundle: string, { steps, only }: KeptOf): Kept {
  if (file === undefined) return { results: new Map(), add: () => undefined }
  const [code_text = ''] = fs.readFileSync(bundle, 'utf8').split('//# sourceMappingURL', 1)
  const code = createHash('sha256').update(code_text).digest('hex')
  const head = JSON.stringify({ code, steps, only: only === undefined ? null : [...only] })
  const before = fs.existsSync(file) ? fs.readFileSync(file, 'utf8') : ''
  const [first = '', ...lines] = before.slice(0, before.lastIndexOf('\n') + 1).split('\n')
  if (before !== '' && !first.startsWith('{"code":')) throw new Error(`--keep: ${file} is something else`)
  const found = first === head ? lines.filter((line) => line !== '') : []
  fs.writeFileSync(`${file}.new`, [head, ...found, ''].join('\n'))
  fs.renameSync(`${file}.new`, file)
  const results = found.map((line) => JSON.parse(line) as SimulationResult)
  return {
    results: new Map(results.map((result) => [result.seed, result])),
    add: (result) => fs.appendFileSync(file, `${JSON.stringify(result)}\n`),
  }
}
