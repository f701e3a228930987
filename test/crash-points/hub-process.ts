/** Controls a recorded hub from its parent process. */
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import fs from 'node:fs'
import type { SpoolEntry } from '../../src/system/files/spool-writer.ts'
import type { Ending } from '../support/command/ending.mjs'
import type { Order, Word } from './orders.ts'

export interface RecordedHub {
  url: string
  /** Executes an order. Resolves with the hub's time when it is done. */
  order(order: Order): Promise<number>
  /** Kills the process with SIGKILL. */
  kill(): Promise<void>
}

export interface Recording {
  /** The bundle of `recorded-process.ts`. */
  program: string
  root: string
  trace: string
  /** The ending of the command: nothing is written after it has begun to remove the files. */
  ending?: Ending
}

/**
 * Collects stderr of the recorded processes. They warn about incomplete lines and torn files, which the workload
 * produces deliberately, so stderr is shown only if `work` fails.
 */
export async function withSaid<T>({ trace, ending }: Recording, work: () => Promise<T>): Promise<T> {
  const file = saidIn(trace)
  fs.rmSync(file, { force: true })
  try {
    return await work()
  } catch (error) {
    const said = fs.existsSync(file) ? fs.readFileSync(file, 'utf8') : ''
    if (ending?.interrupted !== true) process.stderr.write(said)
    throw error
  } finally {
    fs.rmSync(file, { force: true })
  }
}

const saidIn = (trace: string): string => `${trace}.said`

export async function startRecordedHub(recording: Recording, now_ms: number): Promise<RecordedHub> {
  const child = start(recording, ['hub'], now_ms)
  const exited = once(child, 'exit')
  const next = async (): Promise<Word> => {
    const ended = exited.then(([code, os_signal]) => {
      throw new Error(`the recorded hub ended (${String(code ?? os_signal)})`)
    })
    const [word] = (await Promise.race([once(child, 'message'), ended])) as [Word]
    return word
  }
  const first = await next()
  if (!('ready' in first)) throw new Error('the recorded hub said something else before it was ready')
  return {
    url: first.ready,
    async order(order) {
      const said = next()
      child.send(order)
      const word = await said
      if (order.do === 'stop') await exited
      return 'now_ms' in word ? word.now_ms : now_ms
    },
    async kill() {
      child.kill('SIGKILL')
      await exited
    },
  }
}

/** Writes a line into the spool, like a hook. */
export async function leaveLine(recording: Recording, now_ms: number, left: SpoolEntry): Promise<void> {
  const [code] = (await once(start(recording, ['leave'], now_ms, JSON.stringify(left)), 'exit')) as [number]
  if (code !== 0) throw new Error(`the line could not be left (${code})`)
}

/** Writes the incomplete files of a hub that was killed during a write. No hub may be running. */
export async function tearFiles(recording: Recording, now_ms: number): Promise<void> {
  const [code] = (await once(start(recording, ['tear'], now_ms), 'exit')) as [number]
  if (code !== 0) throw new Error(`the files could not be torn (${code})`)
}

function start(
  { program, root, trace, ending }: Recording,
  [what]: [string],
  now_ms: number,
  ...more: string[]
): ChildProcess {
  const flags = ['--expose-internals', '--no-warnings']
  // Written to a file, which is complete when the process has ended. It is outside of the recorded directory, like the
  // trace.
  const said = fs.openSync(saidIn(trace), 'a')
  const child = spawn(process.execPath, [...flags, program, what, root, trace, String(now_ms), ...more], {
    env: { PATH: process.env['PATH'], HOME: root },
    stdio: ['ignore', 'ignore', said, 'ipc'],
  })
  fs.closeSync(said)
  const gone = once(child, 'exit')
  ending?.onInterrupt(() => {
    child.kill('SIGKILL')
    return gone
  })
  return child
}
