/**
 * Reads a repository with the git program. `src/system/git/git-runner.ts` runs the real one.
 *
 * A repository is untrusted: its configuration, attributes and hooks may name programs, and its files may be links out of
 * it. Reading it must be safe and must not change it.
 */
export interface GitRunner {
  /**
   * Finds the repository around a directory, given by its real path. Accepts only a self-contained repository: a `.git`
   * directory, a linked work tree listed by its repository, or a submodule named by its repository; without alternates and
   * without links that lead out.
   *
   * @throws `repository_unknown` if there is none, `git_failed` for a repository of another user, `git_unavailable` without a
   * git version that can keep these promises, `limit_reached` if too many calls wait.
   */
  open(directory: string): Promise<GitWorkTree>
}

export interface GitWorkTree {
  /** Real path of the top directory of the work tree. Git runs there, and all paths are relative to it. */
  top: string
  /** Path of the directory relative to the top, with a trailing slash; empty for the top itself. */
  prefix: string
  /**
   * Runs `git <args>` at the top; `args[0]` is the command. The caller must not pass untrusted text where git expects an
   * option.
   *
   * - The repository is the one that was opened. If another one replaces it, nothing of that is returned.
   * - No shell, no pager, no prompt, no network; English messages, literal paths.
   * - Runs no program configured by the repository: no hook, file monitor, filter, external diff or text conversion (for
   *   the last two the caller passes `--no-ext-diff` and `--no-textconv`). A filtered file is compared as it is on disk.
   * - Writes nothing, not even a refreshed index.
   * - Time, output and number of concurrent calls are bounded.
   *
   * Git follows links in the work tree, so the output must not contain file contents; use `readFile` for them. A git error is
   * returned as output, not thrown.
   *
   * @throws as `open`
   */
  run(args: readonly string[], options?: GitRunOptions): Promise<GitOutput>
  /**
   * Reads a regular file of the work tree by its path from the top. Follows a link if it stays in the work tree; `path` is the
   * target. Refuses files of turnbell's home and files with a second name (a hard link).
   */
  readFile(path: string, bytes_max: number): Promise<{ bytes: Uint8Array; path: string } | FileRefused>
  /** Resolves links in the existing part of a path. */
  resolve(path: string): string
  /**
   * Returns whether a path from the top exists without a link on it. Needed because git also lists a directory that has just
   * been replaced by another one. For a name that is not UTF-8 only its directory is checked; below a directory with such a
   * name nothing is found.
   */
  holds(path: string): boolean
}

export interface FileRefused {
  too_large: boolean
  /** Completes "it cannot be read: ". */
  reason: string
}

export interface GitRunOptions {
  /** Written to its stdin, which is then closed. */
  input?: string | Uint8Array
  output_bytes_max?: number
}

export interface GitOutput {
  /** Output as bytes, up to the limit; names and contents need not be UTF-8. */
  stdout: Uint8Array
  /** Error messages, without quotes of file contents. */
  complaint: string
  /** Null if it was stopped. */
  exit_code: number | null
  /** Why it was stopped. `stdout` then contains the output so far, which may end within a line. */
  stopped: 'output_full' | 'time_over' | null
}
