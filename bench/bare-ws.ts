/** A WebSocket server that only holds its links: what a hub cannot be smaller than. On a port it picks. */
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import { WebSocketServer } from 'ws'
import { collectWhenTold } from './collect.ts'

collectWhenTold()
const server = http.createServer()
const sockets = new WebSocketServer({ server, path: '/ws', perMessageDeflate: false })
sockets.on('connection', (socket) => {
  // Whoever says hello is told so, as a hub does.
  socket.on('message', () => socket.send('{"type":"welcome"}'))
})
server.listen(0, '127.0.0.1', () => {
  process.stdout.write(`bare ready http://127.0.0.1:${(server.address() as AddressInfo).port}\n`)
})
process.on('SIGTERM', () => process.exit(0))
