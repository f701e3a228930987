/** Runs git read-only. `git-settings.ts` has its environment, `git-runner.ts` selects the repository. */
import { spawn, type ChildProcess } from 'node:child_process'
import path from 'node:path'
import { shownMessage } from './git-complaint.ts'
import { killGroup } from '../process/surface-command.ts'
import { GIT_VERSION_MIN, gitEnvironment, gitIsNewEnough } from './git-settings.ts'
import { TurnbellError } from '../../contracts/errors/errors.ts'
import { LIMITS } from '../../contracts/limits/limits.ts'
import type { Clock } from '../../ports/clock.ts'
import type { GitOutput, GitRunOptions } from '../../ports/git.ts'

/** Commands that read only objects and names. All others may read files, which may have filters. */
const READS_NO_FILES: ReadonlySet<string> = new Set([
  'cat-file',
  'config',
  'for-each-ref',
  'hash-object',
  'log',
  'rev-parse',
  'version',
])

const STDERR_LENGTH_MAX = 4_096

/** A directory that always exists. */
export const SOMEWHERE = path.parse(process.execPath).root

/** Where git runs: a directory in which it searches a repository, or a repository that was found. */
export type GitWhere =
  | string
  | {
      cwd: string
      /** Variables that select the repository. */
      env: NodeJS.ProcessEnv
      /** Open directories that the process inherits as descriptors from 3 on. */
      descriptors: readonly number[]
    }

/** `stderr` is the start of git's error output; it may quote any file that git read. */
export type GitEnded = GitOutput & { stderr: string }

export interface GitProgram {
  /** Runs `git <args>`; `args[0]` is the command. The number of concurrent runs is bounded. */
  run(where: GitWhere, args: readonly string[], options?: GitRunOptions): Promise<GitEnded>
  /** The same within a slot that the caller already holds. */
  within(where: GitWhere, args: readonly string[], options?: GitRunOptions): Promise<GitEnded>
  /** Waits for a slot and checks that git is new enough. */
  take<T>(work: () => Promise<T>): Promise<T>
}

export interface GitProgramNeeds {
  env: NodeJS.ProcessEnv
  clock: Pick<Clock, 'after'>
  program?: string
}

export function createGitProgram({ env: own, clock, program = 'git' }: GitProgramNeeds): GitProgram {
  const slots = createSlots()

  const start = (
    where: GitWhere,
    args: readonly string[],
    filters: readonly string[],
    { input = '', output_bytes_max = LIMITS.git_output_bytes_max }: GitRunOptions = {},
  ) =>
    gitProcess({
      program,
      where,
      args,
      input,
      output_bytes_max,
      clock,
      env: gitEnvironment(own, filters),
    })

  // Checked once on success; a missing or old git may be fixed later.
  let checked: Promise<void> | null = null
  const check = () => {
    checked ??= start(SOMEWHERE, ['version'], []).then(({ stdout }) => {
      const version = Buffer.from(stdout).toString().trim()
      if (gitIsNewEnough(version)) return
      throw new TurnbellError('git_unavailable', {
        detail: `git ${GIT_VERSION_MIN.join('.')} or newer is required, found: ${version.slice(0, 80)}`,
      })
    })
    checked.catch(() => (checked = null))
    return checked
  }

  const within: GitProgram['within'] = async (where, args, options = {}) => {
    const [command = ''] = args
    if (!/^[a-z][a-z-]*$/.test(command)) throw new Error(`${command} is not a git command`)
    if (READS_NO_FILES.has(command)) return start(where, args, [], options)
    const configured = await start(where, ['config', '-z', '--name-only', '--get-regexp', '^filter\\.'], [])
    // Exit code 1: no filters. On any other code the command itself would fail in the same way.
    if (configured.exit_code === 1) return start(where, args, [], options)
    if (configured.exit_code !== 0 && configured.stopped === null) return configured
    return start(where, args, filtersOf(configured), options)
  }
  const take: GitProgram['take'] = (work) =>
    slots.take(async () => {
      await check()
      return work()
    })
  return { within, take, run: (where, args, options) => take(() => within(where, args, options)) }
}

/** Returns the filter drivers of all configuration files. */
function filtersOf({ stdout, stopped }: GitOutput): string[] {
  const names = Buffer.from(stdout).toString()
  // An unreadable name cannot be disabled.
  if (stopped !== null || names.includes('\ufffd')) {
    throw new TurnbellError('git_failed', {
      detail: 'The filters of the repository have unreadable names, so its files are not read.',
      hint: 'Check `git config --get-regexp ^filter`.',
    })
  }
  const drivers = names.split('\0').map((name) => /^filter\.(.*)\.[^.]+$/s.exec(name)?.[1])
  return [...new Set(drivers)].filter((driver) => driver !== undefined)
}

/** Semaphore with a first-in, first-out queue. */
function createSlots() {
  const waiting: (() => void)[] = []
  let running = 0
  return {
    async take<T>(work: () => Promise<T>): Promise<T> {
      if (running >= LIMITS.git_processes_max) {
        if (waiting.length >= LIMITS.git_waiting_max) {
          throw new TurnbellError('limit_reached', {
            detail: `${LIMITS.git_waiting_max} calls are already waiting for git.`,
            hint: 'Try again in a moment.',
          })
        }
        // The slot passes to this call, so `running` does not change.
        await new Promise<void>((resolve) => waiting.push(resolve))
      } else running += 1
      try {
        return await work()
      } finally {
        const next = waiting.shift()
        if (next === undefined) running -= 1
        else next()
      }
    },
  }
}

interface GitProcess {
  program: string
  where: GitWhere
  args: readonly string[]
  env: NodeJS.ProcessEnv
  input: string | Uint8Array
  output_bytes_max: number
  clock: Pick<Clock, 'after'>
}

function gitProcess(spec: GitProcess): Promise<GitEnded> {
  const { program, where, args, env, input, output_bytes_max, clock } = spec
  const selected = typeof where !== 'string'
  return new Promise((resolve, reject) => {
    const child: ChildProcess = spawn(program, ['--no-pager', ...(selected ? [] : ['-C', where]), ...args], {
      env: selected ? { ...env, ...where.env } : env,
      // Git changes the directory itself, so that a missing directory is not reported as a missing program.
      cwd: selected ? where.cwd : SOMEWHERE,
      stdio: ['pipe', 'pipe', 'pipe', ...(selected ? where.descriptors : [])],
      // A separate process group, so that all of its children can be killed.
      detached: true,
      windowsHide: true,
    })
    child.once('error', (cause) => {
      timer.cancel()
      reject(
        new TurnbellError('git_unavailable', {
          detail: `${program} could not be run: ${cause.message}`,
          cause,
        }),
      )
    })
    const chunks: Buffer[] = []
    let bytes = 0
    let stderr = ''
    let stopped: GitOutput['stopped'] = null
    const stop = (why: NonNullable<GitOutput['stopped']>) => {
      stopped ??= why
      // It only reads and holds no lock, so it can be killed.
      if (child.pid !== undefined) killGroup(child.pid)
      child.stdout?.destroy()
      child.stderr?.destroy()
    }
    const timer = clock.after(LIMITS.git_answer_ms, () => stop('time_over'))

    // Without free file descriptors there are no pipes.
    child.stdout?.on('data', (chunk: Buffer) => {
      if (stopped !== null) return
      chunks.push(chunk.subarray(0, output_bytes_max - bytes))
      bytes += chunk.length
      if (bytes > output_bytes_max) stop('output_full')
    })
    child.stderr?.on('data', (chunk: Buffer) => {
      if (stderr.length < STDERR_LENGTH_MAX) stderr += chunk.toString().slice(0, STDERR_LENGTH_MAX)
    })
    // A git that fails early does not read its input; its exit code has the reason.
    child.stdin?.on('error', () => {})
    child.stdin?.end(input)

    child.once('close', (code) => {
      timer.cancel()
      const exit_code = stopped === null ? code : null
      const complaint = shownMessage(stderr, exit_code)
      resolve({ stdout: Buffer.concat(chunks), stderr, complaint, exit_code, stopped })
    })
  })
}
