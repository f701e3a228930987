/**
 * A Linux network namespace with only a loopback interface. A process inside can reach only processes inside it; files
 * and Unix sockets are shared with the test.
 */
import { spawn, type ChildProcess, type SpawnOptions } from 'node:child_process'
import { once } from 'node:events'
import fs from 'node:fs'
import { createInterface } from 'node:readline'
import { eventually } from '../eventually.ts'

export interface Offline {
  /** Returns the argv that runs a program inside. */
  inside(argv: readonly string[]): [string, string[]]
  spawn(argv: readonly string[], options: SpawnOptions): ChildProcess
  /** Forwards connections between a TCP port inside and a Unix socket. Resolves once it listens. */
  relay(from: { port: number } | { socket: string }, to: { port: number } | { socket: string }): Promise<void>
  /** Ends all processes that still run inside, such as background processes of a client. */
  close(): Promise<void>
  /** Ends them without waiting for it, for an exit handler. */
  kill(): void
}

export async function goOffline(): Promise<Offline> {
  const unprivileged = process.getuid?.() === 0 ? [] : ['--map-root-user']
  // The holder of the namespace ends when its stdin does, so it cannot outlive the test.
  const holder = spawn(
    'unshare',
    [...unprivileged, '--net', 'sh', '-c', 'ip link set lo up && echo up && exec cat'],
    {
      stdio: ['pipe', 'pipe', 'inherit'],
    },
  )
  const lines = createInterface({ input: holder.stdout })
  const ready = once(lines, 'line') as Promise<[string]>
  const failed = once(holder, 'exit').then(([code]) => {
    throw new Error(`no network namespace could be made (unshare or ip ended with ${String(code)})`)
  })
  await Promise.race([ready, failed])
  failed.catch(() => {})
  const pid = holder.pid as number
  const enter = [
    'nsenter',
    ...(unprivileged.length > 0 ? ['--preserve-credentials', `--user=/proc/${pid}/ns/user`] : []),
  ]
  const inside = (argv: readonly string[]): [string, string[]] => {
    const [program = '', ...args] = [...enter, `--net=/proc/${pid}/ns/net`, '--', ...argv]
    return [program, args]
  }
  /** Kills all processes inside except the holder. Returns whether there were none. */
  const killOthers = () => {
    const place = placeOf(pid)
    const left = processIds().filter((id) => id !== pid && place !== null && placeOf(id) === place)
    for (const id of left) killNow(id)
    return left.length === 0
  }
  const run = (argv: readonly string[], options: SpawnOptions) => spawn(...inside(argv), options)

  return {
    inside,
    spawn: run,
    async relay(from, to) {
      const listen = 'port' in from ? { host: '127.0.0.1', port: from.port } : { path: from.socket }
      const connect = 'port' in to ? { host: '127.0.0.1', port: to.port } : { path: to.socket }
      const child = run([process.execPath, '-e', RELAY, JSON.stringify(listen), JSON.stringify(connect)], {
        stdio: ['pipe', 'pipe', 'inherit'],
      })
      await once(child.stdout as NodeJS.ReadableStream, 'data')
    },
    async close() {
      const gone = once(holder, 'exit')
      await eventually('nothing runs without a network any more', killOthers)
      holder.kill('SIGKILL')
      await gone
    },
    kill() {
      killOthers()
      holder.kill('SIGKILL')
    },
  }
}

const processIds = () => fs.readdirSync('/proc').map(Number).filter(Number.isInteger)

/** Returns the network namespace of a process. Null for a process that has ended, including a zombie. */
function placeOf(id: number): string | null {
  try {
    return fs.readlinkSync(`/proc/${id}/ns/net`)
  } catch {
    return null
  }
}

function killNow(id: number): void {
  try {
    process.kill(id, 'SIGKILL')
  } catch {
    // The process ended by itself.
  }
}

const RELAY = `
const net = require('node:net')
const [listen, connect] = process.argv.slice(1).map((text) => JSON.parse(text))
const server = net.createServer({ allowHalfOpen: true }, (one) => {
  const other = net.connect({ ...connect, allowHalfOpen: true })
  for (const [a, b] of [[one, other], [other, one]]) {
    a.pipe(b)
    a.on('error', () => b.destroy())
  }
})
server.listen(listen, () => console.log('listening'))
process.stdin.resume().on('end', () => process.exit())
`
