/** Measures the duration of a program over several sequential runs, within the sandbox policy. */
import type { Reach } from './sandbox.ts'
import type { BenchAnswer, BenchRun } from '../../contracts/runs/routine.ts'
import { LIMITS } from '../../contracts/limits/limits.ts'
import type { Clock } from '../../ports/clock.ts'

export interface BenchInput {
  argv: readonly string[]
  cwd: string
  runs: number
  /** For all runs in total. */
  timeout_ms: number
}

interface BenchDeps {
  reach: Pick<Reach, 'permitProgram' | 'directory' | 'run'>
  clock: Pick<Clock, 'monotonic'>
  /** Throws `project_unknown`. */
  root: () => string
}

/** Failed runs are measured as well. Throws `leash_forbidden`, `params_invalid`, `program_failed`. */
export async function bench(
  { reach, clock, root: rootOf }: BenchDeps,
  { argv, cwd, runs, timeout_ms }: BenchInput,
): Promise<BenchAnswer> {
  reach.permitProgram(argv)
  const root = rootOf()
  reach.directory(root, cwd)
  const begun = clock.monotonic()
  const done: BenchRun[] = []
  let timed_out = false
  let failed: BenchAnswer['failed'] = null
  while (done.length < runs && !timed_out) {
    const left_ms = timeout_ms - (clock.monotonic() - begun)
    if (left_ms < 1) {
      timed_out = true
      break
    }
    const started = clock.monotonic()
    const ended = await reach.run({ argv, root, cwd, timeout_ms: left_ms })
    // A run that timed out has no meaningful duration.
    if (ended.timed_out) timed_out = true
    else done.push({ duration_ms: rounded(clock.monotonic() - started), exit_code: ended.exit_code })
    if (ended.exit_code !== 0) {
      const { exit_code, stdout, stderr } = ended
      failed ??= { exit_code, stdout: endOf(stdout), stderr: endOf(stderr) }
    }
  }
  return { runs: done, ...figures(done), timed_out, failed }
}

function figures(runs: readonly BenchRun[]): Pick<BenchAnswer, 'min_ms' | 'median_ms' | 'max_ms'> {
  const sorted = runs.map(({ duration_ms }) => duration_ms).sort((a, b) => a - b)
  const at = (index: number) => sorted[index] ?? null
  const [low, high] = [at(Math.floor((sorted.length - 1) / 2)), at(Math.floor(sorted.length / 2))]
  return {
    min_ms: at(0),
    median_ms: low === null || high === null ? null : rounded((low + high) / 2),
    max_ms: at(sorted.length - 1),
  }
}

/** The end of the output, which contains the reason of a failure. */
function endOf(text: string): string {
  return text.slice(-LIMITS.bench_output_length_max)
}

function rounded(ms: number): number {
  return Math.round(ms * 1000) / 1000
}
