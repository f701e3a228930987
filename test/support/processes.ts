/** Real hubs and daemons from dist/, each in a throw-away home, ended by pid. */
import { spawn, type ChildProcess } from 'node:child_process'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { isStopped } from '../../src/system/processes.ts'
import { eventually } from './eventually.ts'

/** dist/, unless a build in another place is to be tried. */
export const BIN =
  process.env['TURNBELL_TEST_BIN'] ?? path.resolve(import.meta.dirname, '../../dist/turnbell.cjs')

/** A home in a short temporary path, so that socket paths fit. */
export function temporaryHome(): string {
  return fs.mkdtempSync(path.join(os.tmpdir(), 'tb-'))
}

/** The environment without anything an outer turnbell or agent client may have set. */
export function cleanEnvironment(extra: Record<string, string> = {}): NodeJS.ProcessEnv {
  const kept = Object.entries(process.env).filter(
    ([name]) => !/^(TURNBELL_|CLAUDE|CODEX_|OPENCODE|NODE_OPTIONS|VITEST|NO_COLOR|FORCE_COLOR)/.test(name),
  )
  return { ...Object.fromEntries(kept), ...extra }
}

export interface Running {
  child: ChildProcess
  /** Everything it printed so far. */
  output(): string
  /** Resolves with the exit code, or the name of the signal that ended it. */
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

/** Starts it and waits for the line that says it is ready; fails with what it printed otherwise. */
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

/** Runs a command to its end. */
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
  // A command that refuses its arguments ends without reading.
  child.stdin.on('error', () => undefined)
  child.stdin.end(options.input ?? '')
  const code = await new Promise<number>((resolve) => child.once('close', (exit) => resolve(exit ?? -1)))
  return { code, stdout, stderr, json: <T>() => JSON.parse(stdout) as T }
}

/** Stops it where it is. Resolves once it stands still, with what lets it go on. */
export async function standStill({ child }: Pick<Running, 'child'>): Promise<() => void> {
  child.kill('SIGSTOP')
  await eventually('it stands still', () => isStopped(child.pid as number))
  return () => void child.kill('SIGCONT')
}

/** Ends a process we started, and waits until it is gone. */
export async function end(running: Running, os_signal: NodeJS.Signals = 'SIGKILL'): Promise<number | string> {
  if (running.child.exitCode === null && running.child.signalCode === null) running.child.kill(os_signal)
  return running.exited
}
