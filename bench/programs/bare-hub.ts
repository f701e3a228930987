/**
 * A WebSocket server that only stores each send in a file and syncs it before it confirms: without personas, checks,
 * queues or events. No faster server in this language over this protocol is known. Listens on a free port; argument: an
 * empty directory.
 *
 * A single send is synced synchronously: the fastest way, which a real hub with other clients cannot use. Several sends
 * share one write and one sync, while more arrive.
 */
import fs from 'node:fs'
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import path from 'node:path'
import { WebSocketServer, type WebSocket } from 'ws'

interface Waiting {
  socket: WebSocket
  receipt: string
  line: Buffer
}

const NEWLINE = Buffer.from('\n')
const fd = fs.openSync(path.join(process.argv[2] ?? '', 'bare-hub.jsonl'), 'a', 0o600)
let waiting: Waiting[] = []
let committing = false

function commit(): void {
  const batch = waiting
  waiting = []
  const lines = batch.map(({ line }) => line)
  const bytes = lines.reduce((sum, { length }) => sum + length, 0)
  if (fs.writevSync(fd, lines) !== bytes) throw new Error('the disk took only a part')
  if (batch.length > 1) return fs.fdatasync(fd, (error) => done(batch, error))
  fs.fdatasyncSync(fd)
  done(batch, null)
}

function done(batch: readonly Waiting[], error: Error | null): void {
  if (error !== null) throw error
  for (const { socket, receipt } of batch) socket.send(receipt)
  committing = false
  wake()
}

function wake(): void {
  if (committing || waiting.length === 0) return
  committing = true
  setImmediate(commit)
}

const server = http.createServer()
const sockets = new WebSocketServer({ server, path: '/ws', perMessageDeflate: false })
let sends = 0
sockets.on('connection', (socket) => {
  socket.on('message', (data: Buffer) => {
    const frame = JSON.parse(data.toString()) as { type: string; id: number }
    if (frame.type === 'hello') socket.send('{"type":"welcome"}')
    if (frame.type !== 'call') return
    sends += 1
    const signal_id = String(sends).padStart(26, '0')
    const result = `{"signal_id":"${signal_id}","durable":true,"seq":${sends},"status":"pending"}`
    const receipt = `{"type":"result","id":${frame.id},"ok":true,"result":${result}}`
    waiting.push({ socket, receipt, line: Buffer.concat([data, NEWLINE]) })
    wake()
  })
})
server.listen(0, '127.0.0.1', () => {
  process.stdout.write(`bare ready http://127.0.0.1:${(server.address() as AddressInfo).port}\n`)
})
process.on('SIGTERM', () => process.exit(0))
