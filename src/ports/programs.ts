/** Running a program in a project and hearing how it ended. `src/system/programs.ts` runs real ones. */
export interface Programs {
  /**
   * The directory that a run would take place in: `cwd` inside `root`, all links followed.
   *
   * @throws `params_invalid` where it is missing or lies outside of the root.
   */
  directory(root: string, cwd: string): string
  /**
   * Resolves when the program has ended, however it ended.
   *
   * - No shell, nothing on stdin but `input`, and of this process's environment only what programs need to work at all:
   *   no token and nothing of ours.
   * - A relative path of a program is looked for from the root; a bare name only in absolute directories.
   * - Too slow, it is ended together with everything that it started.
   *
   * @throws `params_invalid` as `directory` does, `program_failed` where it cannot be started.
   */
  run(program: ProgramRun): Promise<ProgramEnd>
}

export interface ProgramRun {
  argv: readonly string[]
  /** Nothing runs outside of this directory. */
  root: string
  /** Relative to the root. */
  cwd: string
  timeout_ms: number
  /** Of each output the end is kept, up to here. */
  output_bytes_max: number
  /** Text for its stdin; nothing is there where it is absent. */
  input?: string
  /** It also gets the variables by which a program finds the person's desktop. */
  desktop?: true
}

export interface ProgramEnd {
  /** Null where it was ended. */
  exit_code: number | null
  timed_out: boolean
  stdout: string
  stderr: string
  /** Of one of them only the end is left. */
  cut: boolean
}
