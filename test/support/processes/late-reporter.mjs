// A hub and shims in one process. Each line on stdin is a number of shims that connect and report; then the hub pings,
// and then the flag file is written. Arguments: SOCKET FLAG SHIMS. Prints the port of the hub.
import { once } from 'node:events'
import fs from 'node:fs'
import net from 'node:net'
import { createInterface } from 'node:readline'
import { WebSocketServer } from 'ws'

const [, , local_socket, flag, shims] = process.argv
const hub = new WebSocketServer({ host: '127.0.0.1', port: 0 })
hub.on('listening', () => console.log(hub.address().port))
hub.on('connection', (link) => {
  createInterface({ input: process.stdin }).on('line', async () => {
    for (let shim = 0; shim < Number(shims); shim += 1) {
      const connection = net.connect(local_socket)
      await once(connection, 'connect')
      await new Promise((written) => connection.write('report', written))
    }
    link.ping('mark', undefined, () => fs.writeFileSync(flag, ''))
  })
})
