/**
 * The git program, for reading a repository. `src/system/git.ts` runs the real one.
 *
 * A repository is somebody else's: its configuration, attributes and hooks may name programs. Looking at
 * it must be safe all the same, and must leave no trace in it.
 */
export interface GitRunner {
  /**
   * Runs `git <args>` in a directory; `args[0]` is the command. It is the caller's part that nothing
   * from outside stands where git expects an option.
   *
   * - No shell, no pager, no prompt, no network; English messages, paths taken literally.
   * - Nothing that a repository configures is run: no hook, file monitor, filter, external diff,
   *   text conversion (the last two, of commands that would, with `--no-ext-diff` and `--no-textconv`).
   *   A file under a filter is therefore compared as it lies on disk.
   * - Nothing is written, not even a refreshed index.
   * - Ends in bounded time, with bounded output, as one of a bounded number at a time.
   *
   * Whatever git answers is an answer, a refusal of its own included.
   *
   * @throws `git_unavailable` without a git that can promise this, `limit_reached` when too many wait.
   */
  run(root: string, args: readonly string[], options?: GitRunOptions): Promise<GitOutput>
}

export interface GitRunOptions {
  /** Written to its stdin, which is then closed. */
  input?: string
  output_bytes_max?: number
}

export interface GitOutput {
  /** As many bytes as were allowed: names and contents need not be text. */
  stdout: Uint8Array
  /** The beginning of what it complained of. */
  stderr: string
  /** Null where it was stopped. */
  exit_code: number | null
  /** Why it was stopped; what it said until then is in `stdout`, the last of it torn. */
  stopped: 'output_full' | 'time_over' | null
}
