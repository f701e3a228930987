/** Keeps a report small enough for every transport and for its reader. */
import { beginning } from '../../contracts/beginning.ts'
import type { Problem } from '../../contracts/errors.ts'
import type { Json } from '../../contracts/ids.ts'
import { LIMITS } from '../../contracts/limits.ts'
import type { ReportStep } from '../../contracts/routine.ts'

/** A word or two, such as whether something holds, is shown however much came before. */
const ALWAYS_BYTES = 200

/** For the steps of one report, in their order: what is left for the later ones gets less. */
export function createShortener(): (result: Json) => Pick<ReportStep, 'result' | 'result_cut'> {
  let left: number = LIMITS.report_results_bytes_max
  return (result) => {
    const text = JSON.stringify(result)
    const bytes = Buffer.byteLength(text)
    const allowed = Math.max(ALWAYS_BYTES, Math.min(LIMITS.step_result_bytes_max, left))
    if (bytes <= allowed) {
      left -= bytes
      return { result }
    }
    const beginning = beginningOf(text, allowed)
    left -= size(beginning)
    return { result: beginning, result_cut: true }
  }
}

/** As much of a text as fits when it is written as JSON again. */
function beginningOf(text: string, bytes_max: number): string {
  let short = text.slice(0, bytes_max)
  while (short !== '' && size(short) > bytes_max) {
    short = short.slice(0, Math.floor(short.length * 0.8))
  }
  // Not up to the middle of a character.
  return short.replace(/[\ud800-\udbff]$/, '')
}

/** In the report; the quotes of an empty text cost nothing worth counting. */
function size(text: string): number {
  return Buffer.byteLength(JSON.stringify(text)) - 2
}

export function shortProblem(problem: Problem): Problem {
  return { ...problem, detail: shortText(problem.detail), hint: shortText(problem.hint) }
}

function shortText(text: string): string {
  return beginning(text, LIMITS.step_problem_length_max)
}
