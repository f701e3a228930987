/** Free TCP ports on loopback. */
import net from 'node:net'

export const freePort = () => listenOnce(0)

export function isFree(port: number): Promise<boolean> {
  return listenOnce(port).then(
    () => true,
    () => false,
  )
}

function listenOnce(port: number): Promise<number> {
  const server = net.createServer()
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, '127.0.0.1', () => {
      const { port: found } = server.address() as net.AddressInfo
      server.close(() => resolve(found))
    })
  })
}
