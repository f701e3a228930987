/** A WebSocket server that only holds its links: the lower limit of a hub's memory. Listens on a free port. */
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import { WebSocketServer } from 'ws'
import { collectWhenTold } from '../collect.ts'

collectWhenTold()
const server = http.createServer()
const sockets = new WebSocketServer({ server, path: '/ws', perMessageDeflate: false })
sockets.on('connection', (socket) => {
  // Answers a hello like a hub.
  socket.on('message', () => socket.send('{"type":"welcome"}'))
})
server.listen(0, '127.0.0.1', () => {
  process.stdout.write(`bare ready http://127.0.0.1:${(server.address() as AddressInfo).port}\n`)
})
process.on('SIGTERM', () => process.exit(0))
