/** Runs the real git, to read. What it is told beside its arguments stands in `git-settings.ts`. */
import { spawn, type ChildProcess } from 'node:child_process'
import path from 'node:path'
import { killGroup } from './program.ts'
import { GIT_VERSION_MIN, gitEnvironment, gitIsNewEnough } from './git-settings.ts'
import { TurnbellError } from '../contracts/errors.ts'
import { LIMITS } from '../contracts/limits.ts'
import type { Clock } from '../ports/clock.ts'
import type { GitOutput, GitRunner } from '../ports/git.ts'

/** These look at objects and names only. All others may read files, and files may have filters. */
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

/** A directory that is always there. */
const SOMEWHERE = path.parse(process.execPath).root

export function createGitRunner(needs: {
  env: NodeJS.ProcessEnv
  clock: Pick<Clock, 'after'>
  program?: string
}): GitRunner {
  const { env: own, clock, program = 'git' } = needs
  const turns = createTurns()

  const start = (
    root: string,
    args: readonly string[],
    filters: readonly string[],
    { input = '', output_bytes_max = LIMITS.git_output_bytes_max } = {},
  ) => gitProcess({ program, root, args, env: gitEnvironment(own, filters), input, output_bytes_max, clock })

  // Asked once; a git that is missing or too old today may be mended tomorrow.
  let checked: Promise<void> | null = null
  const check = () => {
    checked ??= start(SOMEWHERE, ['version'], []).then(({ stdout }) => {
      const version = Buffer.from(stdout).toString().trim()
      if (gitIsNewEnough(version)) return
      throw new TurnbellError('git_unavailable', {
        detail: `git ${GIT_VERSION_MIN.join('.')} or newer is needed, and this one says: ${version.slice(0, 80)}`,
      })
    })
    checked.catch(() => (checked = null))
    return checked
  }

  return {
    run: (root, args, options = {}) =>
      turns.take(async () => {
        const [command = ''] = args
        if (!/^[a-z][a-z-]*$/.test(command)) throw new Error(`${command} is no command of git`)
        await check()
        if (READS_NO_FILES.has(command)) return start(root, args, [], options)
        const configured = await start(
          root,
          ['config', '-z', '--name-only', '--get-regexp', '^filter\\.'],
          [],
        )
        // 1 says that there are none; with anything else the command would fail in the same way.
        if (configured.exit_code === 1) return start(root, args, [], options)
        if (configured.exit_code !== 0 && configured.stopped === null) return configured
        return start(root, args, filtersOf(configured), options)
      }),
  }
}

/** The filter drivers that any configuration names. */
function filtersOf({ stdout, stopped }: GitOutput): string[] {
  const names = Buffer.from(stdout).toString()
  // What cannot be read cannot be switched off.
  if (stopped !== null || names.includes('\ufffd')) {
    throw new TurnbellError('git_failed', {
      detail: 'The repository configures filters in a way that cannot be read, so its files are left alone.',
      hint: 'Look at `git config --get-regexp ^filter`.',
    })
  }
  const drivers = names.split('\0').map((name) => /^filter\.(.*)\.[^.]+$/s.exec(name)?.[1])
  return [...new Set(drivers)].filter((driver) => driver !== undefined)
}

/** So many at a time, the others in the order in which they came. */
function createTurns() {
  const waiting: (() => void)[] = []
  let running = 0
  return {
    async take<T>(work: () => Promise<T>): Promise<T> {
      if (running >= LIMITS.git_processes_max) {
        if (waiting.length >= LIMITS.git_waiting_max) {
          throw new TurnbellError('limit_reached', {
            detail: `${LIMITS.git_waiting_max} calls wait for git already.`,
            hint: 'Try again in a moment.',
          })
        }
        // The place of the one that ends is handed on, so `running` stays as it is.
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
  root: string
  args: readonly string[]
  env: NodeJS.ProcessEnv
  input: string
  output_bytes_max: number
  clock: Pick<Clock, 'after'>
}

function gitProcess(spec: GitProcess): Promise<GitOutput> {
  const { program, root, args, env, input, output_bytes_max, clock } = spec
  return new Promise((resolve, reject) => {
    const child: ChildProcess = spawn(program, ['--no-pager', '-C', root, ...args], {
      env,
      // Git goes to the root by itself, so a directory that is missing is not mistaken for a missing program.
      cwd: SOMEWHERE,
      stdio: 'pipe',
      // A group of its own, so that being stopped reaches everything it started.
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
      // It holds no lock, so there is nothing that it would have to tidy up.
      if (child.pid !== undefined) killGroup(child.pid)
      child.stdout?.destroy()
      child.stderr?.destroy()
    }
    const timer = clock.after(LIMITS.git_answer_ms, () => stop('time_over'))

    // Without room for more files there are no pipes.
    child.stdout?.on('data', (chunk: Buffer) => {
      if (stopped !== null) return
      chunks.push(chunk.subarray(0, output_bytes_max - bytes))
      bytes += chunk.length
      if (bytes > output_bytes_max) stop('output_full')
    })
    child.stderr?.on('data', (chunk: Buffer) => {
      if (stderr.length < STDERR_LENGTH_MAX) stderr += chunk.toString().slice(0, STDERR_LENGTH_MAX)
    })
    // A git that fails early reads no input; its exit code says why.
    child.stdin?.on('error', () => {})
    child.stdin?.end(input)

    child.once('close', (code) => {
      timer.cancel()
      resolve({ stdout: Buffer.concat(chunks), stderr, exit_code: stopped === null ? code : null, stopped })
    })
  })
}
