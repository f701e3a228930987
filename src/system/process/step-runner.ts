/** Runs programs for steps: in the project, without a shell, without secrets in the environment, with a timeout. */
import { spawn, type ChildProcess } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { killGroup } from './surface-command.ts'
import { TurnbellError } from '../../contracts/errors/errors.ts'
import { LIMITS } from '../../contracts/limits/limits.ts'
import type { Clock } from '../../ports/clock.ts'
import type { ProgramResult, ProgramRun, StepRunner } from '../../ports/step-runner.ts'

export interface SystemStepRunner extends StepRunner {
  /** Kills running programs with their process groups. */
  close(): void
}

export function createStepRunner(needs: {
  env: NodeJS.ProcessEnv
  clock: Pick<Clock, 'after'>
}): SystemStepRunner {
  const running = new Set<number>()
  const env = reducedEnvironment(needs.env)
  return {
    directory: directoryIn,
    run: (program) => {
      const more = program.desktop === true ? desktopOf(needs.env) : {}
      return run(program, { ...env, ...more }, needs.clock, running)
    },
    close() {
      for (const pid of running) killGroup(pid)
    },
  }
}

function run(
  { argv, root, cwd, timeout_ms, output_bytes_max, input }: ProgramRun,
  env: NodeJS.ProcessEnv,
  clock: Pick<Clock, 'after'>,
  running: Set<number>,
): Promise<ProgramResult> {
  const directory = directoryIn(root, cwd)
  const [program = '', ...args] = argv
  return new Promise((resolve, reject) => {
    const child: ChildProcess = startOrThrow(program, () =>
      spawn(fromRoot(root, program), args, {
        cwd: directory,
        env,
        windowsHide: true,
        stdio: [input === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'],
        // A separate process group, so that all of its children can be killed.
        detached: true,
      }),
    )
    child.once('error', (cause) => {
      deadline.cancel()
      reject(notStarted(program, cause))
    })
    const [stdout, stderr] = [endOf(output_bytes_max), endOf(output_bytes_max)]
    // A program that does not read its stdin closes it.
    child.stdin?.on('error', () => {})
    child.stdin?.end(input)
    // Without free file descriptors there are no pipes.
    child.stdout?.on('data', (chunk: Buffer) => stdout.add(chunk))
    child.stderr?.on('data', (chunk: Buffer) => stderr.add(chunk))
    let timed_out = false
    const deadline = clock.after(timeout_ms, () => {
      timed_out = true
      if (child.pid !== undefined) killGroup(child.pid)
    })
    if (child.pid !== undefined) running.add(child.pid)

    child.once('exit', (exit_code) => {
      deadline.cancel()
      const end = () => {
        patience.cancel()
        // Remaining children would keep the pipes open and run unsupervised.
        if (child.pid !== undefined && running.delete(child.pid) && !closed) killGroup(child.pid)
        child.stdout?.destroy()
        child.stderr?.destroy()
        const cut = stdout.cut() || stderr.cut()
        resolve({ exit_code, timed_out, stdout: stdout.text(), stderr: stderr.text(), truncated: cut })
      }
      let closed = false
      // The last output may still be in the pipes.
      const patience = clock.after(LIMITS.program_pipes_ms, end)
      child.once('close', () => {
        closed = true
        end()
      })
    })
  })
}

/** Some errors are emitted as an event, others are thrown. */
function startOrThrow<T>(program: string, start: () => T): T {
  try {
    return start()
  } catch (cause) {
    throw notStarted(program, cause as Error)
  }
}

function notStarted(program: string, cause: Error): TurnbellError {
  return new TurnbellError('program_failed', {
    detail: `${JSON.stringify(program.slice(0, 200))} could not be started: ${cause.message.slice(0, 200)}`,
    hint: 'Check that it is installed in an absolute directory of PATH.',
    cause,
  })
}

/** Resolves a relative program against the root, because it runs in another directory. */
function fromRoot(root: string, program: string): string {
  return /[/\\]/.test(program) ? path.resolve(root, program) : program
}

function directoryIn(root: string, cwd: string): string {
  const outside = (why: string, cause?: unknown) =>
    new TurnbellError('params_invalid', {
      detail: `cwd: ${JSON.stringify(cwd)} ${why}`,
      hint: 'Use a directory relative to the project.',
      cause,
    })
  let [top, found]: [string, string] = [root, root]
  try {
    top = fs.realpathSync(root)
    found = fs.realpathSync(path.resolve(top, cwd))
  } catch (cause) {
    throw outside(`is not a directory of ${root}.`, cause)
  }
  const relative = path.relative(top, found)
  if (relative === '..' || relative.startsWith(`..${path.sep}`) || path.isAbsolute(relative)) {
    throw outside(`is outside of ${root}.`)
  }
  if (!fs.statSync(found).isDirectory()) throw outside(`is not a directory of ${root}.`)
  return found
}

/** Keeps the end of the output, which contains the result. */
function endOf(bytes_max: number) {
  const chunks: Buffer[] = []
  let kept_bytes = 0
  let written = 0
  return {
    add(chunk: Buffer) {
      chunks.push(chunk)
      kept_bytes += chunk.length
      written += chunk.length
      while (kept_bytes - (chunks[0]?.length ?? 0) >= bytes_max) kept_bytes -= chunks.shift()?.length ?? 0
    },
    cut: () => written > bytes_max,
    text() {
      const all = Buffer.concat(chunks)
      let from = Math.max(0, all.length - bytes_max)
      // Does not split a character.
      while (written > bytes_max && from < all.length && ((all[from] as number) & 0xc0) === 0x80) from += 1
      return all.subarray(from).toString()
    },
  }
}

/** Variables that programs need to find each other, their settings and their language. All others may be secrets. */
const INHERITED =
  /^(HOME|USER|LOGNAME|SHELL|LANG|LC_[A-Z]+|TZ|TMPDIR|TEMP|TMP|XDG_(CACHE|CONFIG|DATA|STATE)_HOME|SYSTEMROOT|WINDIR|COMSPEC|PATHEXT|USERPROFILE|HOMEDRIVE|HOMEPATH|APPDATA|LOCALAPPDATA|PROGRAMDATA|PROGRAMFILES)$/i

const USUAL_PATH = '/usr/bin:/bin'

const DESKTOP = [
  ...['DISPLAY', 'WAYLAND_DISPLAY', 'XAUTHORITY', 'XDG_RUNTIME_DIR', 'DBUS_SESSION_BUS_ADDRESS'],
] as const

function desktopOf(own: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(
    DESKTOP.filter((name) => own[name] !== undefined).map((name) => [name, own[name]]),
  )
}

function reducedEnvironment(own: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const env: NodeJS.ProcessEnv = { TERM: 'dumb', NO_COLOR: '1' }
  for (const [name, value] of Object.entries(own)) if (INHERITED.test(name)) env[name] = value
  // A relative directory would let a project choose which program is run.
  const directories = (own['PATH'] ?? '').split(path.delimiter).filter((one) => path.isAbsolute(one))
  // So would a PATH without any directory.
  env['PATH'] = directories.length === 0 ? USUAL_PATH : directories.join(path.delimiter)
  return env
}
