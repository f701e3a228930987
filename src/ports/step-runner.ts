/** Runs programs in a project. `src/system/process/step-runner.ts` runs real ones. */
export interface StepRunner {
  /**
   * Returns the directory in which a run would start: `cwd` inside `root`, with all links resolved.
   *
   * @throws `params_invalid` if it is missing or outside of the root.
   */
  directory(root: string, cwd: string): string
  /**
   * Resolves when the program has ended for any reason.
   *
   * - No shell; stdin contains only `input`; the environment contains only the variables that programs need, no tokens.
   * - A relative program path is resolved from the root; a bare name is searched only in absolute directories.
   * - After the timeout the program and all its descendants are killed.
   *
   * @throws `params_invalid` as `directory` does, `program_failed` if it cannot be started.
   */
  run(program: ProgramRun): Promise<ProgramResult>
}

export interface ProgramRun {
  argv: readonly string[]
  /** Directory outside of which nothing runs. */
  root: string
  /** Relative to the root. */
  cwd: string
  timeout_ms: number
  /** Maximum bytes kept of each output; the end is kept. */
  output_bytes_max: number
  /** Text for stdin. Default: empty. */
  input?: string
  /** Also passes the environment variables that desktop programs need. */
  desktop?: true
}

export interface ProgramResult {
  /** Null if it was killed. */
  exit_code: number | null
  timed_out: boolean
  stdout: string
  stderr: string
  /** True if an output was longer than the limit. */
  truncated: boolean
}
