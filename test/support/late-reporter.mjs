// A hub and a shim in one process. At each line on stdin the shim opens a connection and reports, then the hub pings, and
// then the flag is set. Started with: SOCKET FLAG. Prints the port of the hub.
import fs from 'node:fs'
import net from 'node:net'
import { createInterface } from 'node:readline'
import { WebSocketServer } from 'ws'

const [, , local_socket, flag] = process.argv
const hub = new WebSocketServer({ host: '127.0.0.1', port: 0 })
hub.on('listening', () => console.log(hub.address().port))
hub.on('connection', (link) => {
  createInterface({ input: process.stdin }).on('line', () => {
    const shim = net.connect(local_socket, () => {
      shim.write('report', () => link.ping('mark', undefined, () => fs.writeFileSync(flag, '')))
    })
  })
})
