/** Owner-only Unix sockets: Node makes them 0755, so the umask is narrowed around `listen`. */
import fs from 'node:fs'
import net from 'node:net'
import { TurnbellError } from '../contracts/errors.ts'
import { ensurePrivateDirectory } from './home.ts'

/**
 * Listens on a path inside a private directory, mode 0600. The caller must hold the lock of that
 * directory: a socket file found there is a dead one's and is replaced.
 *
 * @throws `home_not_permitted` for an unsafe directory, `bind_failed` otherwise.
 */
export async function listenPrivately(server: net.Server, directory: string, socket: string): Promise<void> {
  const named_pipe = socket.startsWith('\\\\')
  if (!named_pipe) {
    ensurePrivateDirectory(directory)
    fs.rmSync(socket, { force: true })
  }
  await new Promise<void>((resolve, reject) => {
    const failed = (cause: Error) =>
      reject(new TurnbellError('bind_failed', { detail: `${socket}: ${cause.message}`, cause }))
    server.once('error', failed)
    // bind(2) happens inside listen(), in this turn of the loop, so the narrow umask covers exactly it.
    const before = named_pipe ? null : process.umask(0o177)
    try {
      server.listen({ path: socket, readableAll: false, writableAll: false }, () => {
        server.off('error', failed)
        resolve()
      })
    } finally {
      if (before !== null) process.umask(before)
    }
  })
  if (!named_pipe) fs.chmodSync(socket, 0o600)
}

/** Takes the socket file away; that it is gone already is fine. */
export function removeSocket(socket: string): void {
  if (!socket.startsWith('\\\\')) fs.rmSync(socket, { force: true })
}
