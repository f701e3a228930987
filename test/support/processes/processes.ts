/** Starts real hubs and daemons from dist/, each in a temporary home, and ends them by pid. */
import { spawn, type ChildProcess } from 'node:child_process'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { isStopped } from '../../../src/system/process/process-info.ts'
import { eventually } from '../eventually.ts'

/** dist/, unless another build is under test. */
export const BIN =
  process.env['TURNBELL_TEST_BIN'] ?? path.resolve(import.meta.dirname, '../../../dist/turnbell.cjs')

/** Creates a home at a short temporary path, because socket paths are limited. */
export function temporaryHome(): string {
  return fs.mkdtempSync(path.join(os.tmpdir(), 'tb-'))
}

/** Returns the environment without variables of an outer turnbell or agent client. */
export function cleanEnvironment(extra: Record<string, string> = {}): NodeJS.ProcessEnv {
  const kept = Object.entries(process.env).filter(
    ([name]) => !/^(TURNBELL_|CLAUDE|CODEX_|OPENCODE|NODE_OPTIONS|VITEST|NO_COLOR|FORCE_COLOR)/.test(name),
  )
  return { ...Object.fromEntries(kept), ...extra }
}

export interface Running {
  child: ChildProcess
  /** Returns all output so far. */
  output(): string
  /** Resolves with the exit code, or the signal that ended it. */
  exited: Promise<number | string>
}

/** Starts `turnbell ARGS`. */
export function start(args: readonly string[], env: Record<string, string> = {}): Running {
  const child = spawn(process.execPath, [BIN, ...args], {
    env: cleanEnvironment(env),
    stdio: ['pipe', 'pipe', 'pipe'],
  })
  let output = ''
  child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()))
  child.stderr.on('data', (chunk: Buffer) => (output += chunk.toString()))
  const exited = new Promise<number | string>((resolve) => {
    child.once('exit', (code, os_signal) => resolve(code ?? os_signal ?? 'unknown'))
  })
  return { child, output: () => output, exited }
}

/** Starts the process and waits for its ready line; fails with its output otherwise. */
export async function startReady(
  args: readonly string[],
  ready: RegExp,
  env: Record<string, string> = {},
): Promise<Running & { ready: RegExpMatchArray }> {
  const running = start(args, env)
  const lines = createInterface({ input: running.child.stdout as NodeJS.ReadableStream })
  const match = await new Promise<RegExpMatchArray>((resolve, reject) => {
    lines.on('line', (line) => {
      const found = ready.exec(line)
      if (found) resolve(found)
    })
    void running.exited.then((how) =>
      reject(new Error(`turnbell ${args.join(' ')} ended with ${how}:\n${running.output()}`)),
    )
  })
  return { ...running, ready: match }
}

export async function startHub(
  home: string,
  args: readonly string[] = ['--port', '0'],
  env: Record<string, string> = {},
) {
  const running = await startReady(['hub', '--home', home, ...args], /^turnbell hub ready (http\S+)$/, env)
  return { ...running, url: running.ready[1] as string }
}

export async function startDaemon(
  home: string,
  identity: string,
  args: readonly string[] = [],
  env: Record<string, string> = {},
) {
  const running = await startReady(
    ['daemon', '--home', home, '--persona', identity, ...args],
    /^turnbell daemon ready (\S+) (\S+)$/,
    env,
  )
  return { ...running, control_socket: running.ready[2] as string }
}

/** Runs a command until it exits. */
export async function turnbell(
  args: readonly string[],
  options: { env?: Record<string, string>; input?: string; cwd?: string } = {},
) {
  const child = spawn(process.execPath, [BIN, ...args], {
    cwd: options.cwd,
    env: cleanEnvironment(options.env),
    stdio: ['pipe', 'pipe', 'pipe'],
  })
  let stdout = ''
  let stderr = ''
  child.stdout.on('data', (chunk: Buffer) => (stdout += chunk.toString()))
  child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()))
  // A command that rejects its arguments exits without reading stdin.
  child.stdin.on('error', () => undefined)
  child.stdin.end(options.input ?? '')
  const code = await new Promise<number>((resolve) => child.once('close', (exit) => resolve(exit ?? -1)))
  return { code, stdout, stderr, json: <T>() => JSON.parse(stdout) as T }
}

/** Suspends the process. Resolves when it is stopped, with a function that resumes it. */
export async function standStill({ child }: Pick<Running, 'child'>): Promise<() => void> {
  child.kill('SIGSTOP')
  await eventually('it stands still', () => isStopped(child.pid as number))
  return () => void child.kill('SIGCONT')
}

/** Ends a process that the test started, and waits until it is gone. */
export async function end(running: Running, os_signal: NodeJS.Signals = 'SIGKILL'): Promise<number | string> {
  if (running.child.exitCode === null && running.child.signalCode === null) running.child.kill(os_signal)
  return running.exited
}
