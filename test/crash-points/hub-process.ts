/** A recorded hub, as its parent sees it. */
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import type { Order, Word } from './orders.ts'
import type { Left } from '../../src/cli/hooks/spool.ts'

export interface RecordedHub {
  url: string
  /** Answers the hub's time when it is done. */
  order(order: Order): Promise<number>
  /** As its process ends, with -9. */
  kill(): Promise<void>
}

export interface Recording {
  /** The bundle of `recorded-process.ts`. */
  program: string
  root: string
  trace: string
}

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

/** Leaves a line in the spool, as a hook does. */
export async function leaveLine(recording: Recording, now_ms: number, left: Left): Promise<void> {
  const [code] = (await once(start(recording, ['leave'], now_ms, JSON.stringify(left)), 'exit')) as [number]
  if (code !== 0) throw new Error(`the line could not be left (${code})`)
}

/** Writes what a hub leaves behind that is killed in the middle of a write. None runs. */
export async function tearFiles(recording: Recording, now_ms: number): Promise<void> {
  const [code] = (await once(start(recording, ['tear'], now_ms), 'exit')) as [number]
  if (code !== 0) throw new Error(`the files could not be torn (${code})`)
}

function start(
  { program, root, trace }: Recording,
  [what]: [string],
  now_ms: number,
  ...more: string[]
): ChildProcess {
  const flags = ['--expose-internals', '--no-warnings']
  return spawn(process.execPath, [...flags, program, what, root, trace, String(now_ms), ...more], {
    env: { PATH: process.env['PATH'], HOME: root },
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  })
}
