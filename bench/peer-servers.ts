/** Other servers that store messages durably: started on loopback, on the same disk, ended by pid. */
import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import fs from 'node:fs'
import net from 'node:net'
import path from 'node:path'
import { startProgram, temporaryDirectory, until, type Process } from './processes.ts'
import type { PeerSenderHandlers, Protocol } from './programs/peer-sender.ts'
import { programOf } from './debian-programs.ts'
import { pathOf } from '../test/support/command/debian.mjs'
import type { Remote } from './remote.ts'

export interface PeerServer extends Process {
  protocol: Protocol
  port: number
  /** The version, and the evidence that it syncs before it answers. */
  described: string
}

/** Reason why a server cannot be measured here. */
export class Unavailable extends Error {}

export async function startRedis(sender: Remote<PeerSenderHandlers>): Promise<PeerServer> {
  const program = programOf('redis-server', 'redis-server')
  if (program === null) throw new Unavailable('redis-server is missing (Debian package redis-server)')
  const port = await freePort()
  const settings = {
    port,
    bind: '127.0.0.1',
    dir: temporaryDirectory(),
    save: '',
    appendonly: 'yes',
    appendfsync: 'always',
    // A rewrite during a round would only slow it down.
    'auto-aof-rewrite-percentage': 0,
  }
  const args = Object.entries(settings).flatMap(([name, value]) => [`--${name}`, String(value)])
  const server = await startProgram(program, args, { ready: /Ready to accept connections/ })
  const ask = (...words: string[]) => sender.ask({ protocol: 'redis', port, words })
  for (const [name, value] of [
    ['appendonly', 'yes'],
    ['appendfsync', 'always'],
  ] as const) {
    const answer = await ask('CONFIG', 'GET', name)
    if (!answer.endsWith(`\r\n${value}\r\n`)) throw new Error(`redis-server says of ${name}: ${answer}`)
  }
  const version = /redis_version:(\S+)/.exec(await ask('INFO', 'server'))?.[1]
  const described = `Redis ${version}, XADD to a stream for each recipient; it answers CONFIG GET with appendonly yes, appendfsync always`
  return { ...server, protocol: 'redis', port, described }
}

/** One subject for each recipient's queue, all in one stream, which is the fastest configuration. */
const STREAM = {
  name: 'INBOX',
  subjects: ['inbox.*'],
  storage: 'file',
  retention: 'limits',
  discard: 'old',
  num_replicas: 1,
}

export async function startNats(sender: Remote<PeerSenderHandlers>): Promise<PeerServer> {
  const program = programOf('nats-server', 'nats-server')
  if (program === null) throw new Unavailable('nats-server is missing (Debian package nats-server)')
  const directory = temporaryDirectory()
  const store = path.join(directory, 'jetstream')
  fs.mkdirSync(store)
  const { setting, how } = syncedStore(program, store)
  const port = await freePort()
  const config = path.join(directory, 'nats.conf')
  fs.writeFileSync(
    config,
    `host: 127.0.0.1\nport: ${port}\njetstream { store_dir: ${JSON.stringify(store)}${setting} }\n`,
  )
  const args = ['--config', config, '--log', path.join(directory, 'log')]
  const server = await startProgram(program, args)
  await accepting(port)
  const answer = await sender.ask({
    ...{ protocol: 'nats', port },
    words: ['$JS.API.STREAM.CREATE.INBOX', JSON.stringify(STREAM)],
  })
  if (!answer.includes('"storage":"file"')) throw new Error(`nats-server makes no stream: ${answer}`)
  return { ...server, protocol: 'nats', port, described: `NATS ${versionOf(program)} JetStream, ${how}` }
}

/**
 * Before 2.10 a server does not support `sync_interval`, and confirms before it syncs. The file system can sync
 * instead: files in a directory with the attribute S are on disk when a write returns. That is one call less than the
 * server's own method.
 */
function syncedStore(program: string, store: string): { setting: string; how: string } {
  const [major = 0, minor = 0] = versionOf(program).split('.').map(Number)
  if (major > 2 || (major === 2 && minor >= 10)) {
    return { setting: ', sync_interval: always', how: 'file storage, sync_interval: always' }
  }
  const [chattr, lsattr] = [pathOf('chattr'), pathOf('lsattr')]
  const set = chattr !== null && spawnSync(chattr, ['+S', store]).status === 0
  const shown = lsattr === null ? '' : spawnSync(lsattr, ['-d', store], { encoding: 'utf8' }).stdout
  if (!set || !shown.split(' ', 1)[0]?.includes('S')) {
    throw new Unavailable(
      `nats-server ${versionOf(program)} has no sync_interval, and the file system of ${store} no attribute S`,
    )
  }
  return {
    setting: '',
    how: 'file storage; this version has no sync_interval, so its directory has the attribute S (lsattr says so), which syncs each write before it returns, as sync_interval: always would',
  }
}

function versionOf(program: string): string {
  const { stdout } = spawnSync(program, ['--version'], { encoding: 'utf8' })
  return /v(\d+\.\d+\.\d+)/.exec(stdout)?.[1] ?? ''
}

async function freePort(): Promise<number> {
  const server = net.createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as net.AddressInfo
  server.close()
  await once(server, 'close')
  return port
}

async function accepting(port: number): Promise<void> {
  await until('nats-server accepts connections', async () => {
    const socket = net.connect(port, '127.0.0.1')
    try {
      await once(socket, 'connect')
      return true
    } finally {
      socket.destroy()
    }
  })
}
