/**
 * A place without a network: a Linux network namespace of its own, with nothing but loopback. What runs
 * in it can reach only what runs in it too; files and Unix sockets are shared with the test.
 */
import { spawn, type ChildProcess, type SpawnOptions } from 'node:child_process'
import { once } from 'node:events'
import fs from 'node:fs'
import { createInterface } from 'node:readline'
import { eventually } from './eventually.ts'

export interface Offline {
  /** argv of a program to be run in there. */
  inside(argv: readonly string[]): [string, string[]]
  spawn(argv: readonly string[], options: SpawnOptions): ChildProcess
  /** Carries connections between a TCP port in there and a Unix socket. Resolves once it listens. */
  relay(from: { port: number } | { socket: string }, to: { port: number } | { socket: string }): Promise<void>
  /** Ends whatever still runs in there: what a client left behind in its own background. */
  close(): Promise<void>
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
      const place = placeOf(pid)
      const gone = once(holder, 'exit')
      await eventually('nothing runs without a network any more', () => {
        const left = processIds().filter((id) => id !== pid && place !== null && placeOf(id) === place)
        for (const id of left) killNow(id)
        return left.length === 0
      })
      holder.kill('SIGKILL')
      await gone
    },
  }
}

const processIds = () => fs.readdirSync('/proc').map(Number).filter(Number.isInteger)

/** Which network namespace a process is in. Null for one that has ended, also when nobody has waited for it. */
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
    // It ended by itself.
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
