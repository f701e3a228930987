/** Truncates results in a report, so that it fits into every transport. */
import { truncate } from '../../contracts/text/truncate.ts'
import type { Problem } from '../../contracts/errors/errors.ts'
import type { Json } from '../../contracts/ids.ts'
import { LIMITS } from '../../contracts/limits/limits.ts'
import type { ReportStep } from '../../contracts/runs/routine.ts'

/** Results up to this length are always shown. */
const ALWAYS_BYTES = 200

/** Returns a function for the results of one report, in order of the steps, which share a budget. */
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

/** Truncates a text to a length as JSON. */
function beginningOf(text: string, bytes_max: number): string {
  let short = text.slice(0, bytes_max)
  while (short !== '' && size(short) > bytes_max) {
    short = short.slice(0, Math.floor(short.length * 0.8))
  }
  // Not in the middle of a character pair.
  return short.replace(/[\ud800-\udbff]$/, '')
}

/** Length as JSON in the report; the quotes are ignored. */
function size(text: string): number {
  return Buffer.byteLength(JSON.stringify(text)) - 2
}

export function shortProblem(problem: Problem): Problem {
  return { ...problem, detail: shortText(problem.detail), hint: shortText(problem.hint) }
}

function shortText(text: string): string {
  return truncate(text, LIMITS.step_problem_length_max)
}
