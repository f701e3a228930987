/** Starts one of several child processes that print `ready` and start on command. */
import { spawn, type ChildProcessByStdio } from 'node:child_process'
import { once } from 'node:events'
import type { Readable, Writable } from 'node:stream'
import { onTestFinished } from 'vitest'

export interface ReadyChild {
  child: ChildProcessByStdio<Writable, Readable, null>
  /** Resolves with the exit code and the signal after all output was read. */
  closed: Promise<unknown[]>
  go: () => void
}

/** `script` is a bundle. The process ends with the test. */
export async function readyChild(script: string, ...args: string[]): Promise<ReadyChild> {
  const child = spawn(process.execPath, [script, ...args], { stdio: ['pipe', 'pipe', 'inherit'] })
  onTestFinished(() => void child.kill('SIGKILL'))
  const closed = once(child, 'close')
  await once(child.stdout, 'data')
  return { child, closed, go: () => void child.stdin.write('go\n') }
}
