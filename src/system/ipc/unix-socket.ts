/** Unix sockets for the owner only. Node.js creates them with mode 0755, so the umask is narrowed around `listen`. */
import { randomUUID } from 'node:crypto'
import fs from 'node:fs'
import net from 'node:net'
import path from 'node:path'
import { RPC_ERRORS } from '../../contracts/control.ts'
import { toProblem, TurnbellError } from '../../contracts/errors/errors.ts'
import { LIMITS } from '../../contracts/limits/limits.ts'
import type { LocalSockets, RpcHandlers, RpcPeer } from '../../ports/rpc.ts'
import { ensurePrivateDirectory } from '../config/home.ts'
import { createRpcPeer } from './json-rpc-peer.ts'

/**
 * Listens on a path inside a private directory, mode 0600. The caller must hold the lock of that directory, so an
 * existing entry is stale or foreign, and is replaced.
 *
 * @throws `home_not_permitted` for an unsafe directory, `bind_failed` otherwise.
 */
export async function listenPrivately(server: net.Server, directory: string, socket: string): Promise<void> {
  const named_pipe = isNamedPipe(socket)
  if (!named_pipe) {
    ensurePrivateDirectory(directory)
    checkLength(socket)
    fs.rmSync(socket, { recursive: true, force: true })
  }
  await new Promise<void>((resolve, reject) => {
    const failed = (cause: Error) =>
      reject(new TurnbellError('bind_failed', { detail: `${socket}: ${cause.message}`, cause }))
    server.once('error', failed)
    // bind(2) runs synchronously in listen(), so the narrow umask covers only this socket.
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

/** Windows: a name that is not a file. */
export const isNamedPipe = (socket: string) => socket.startsWith('\\\\')

/** Removes the socket file if it exists. */
export function removeSocket(socket: string): void {
  if (!isNamedPipe(socket) && lookAt(socket) !== null) fs.rmSync(socket, { force: true })
}

/** Returns the identity of the file, such as a socket; null if it is missing, and for a named pipe, which has none. */
export function fileAt(socket: string): string | null {
  if (isNamedPipe(socket)) return null
  const stat = lookAt(socket)
  return stat === null ? null : `${stat.dev}:${stat.ino}:${stat.birthtimeNs}`
}

/** Returns null also if a file is in the place of a parent directory. */
function lookAt(file: string): fs.BigIntStats | null {
  try {
    return fs.lstatSync(file, { bigint: true })
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? '')) return null
    throw error
  }
}

/** The system's local sockets. */
export const localSockets: LocalSockets = {
  async listen({ directory, path: at }, onPeer) {
    const peers = new Set<RpcPeer>()
    const server = net.createServer((socket) => {
      if (peers.size >= LIMITS.socket_clients_max) return rejectConnection(socket)
      const peer = createRpcPeer(socket, onPeer)
      peers.add(peer)
      socket.on('close', () => peers.delete(peer))
    })
    await listenPrivately(server, directory, at)
    const own = fileAt(at)
    let closed: Promise<void> | null = null
    const stopAccepting = () => {
      // Also unlinks the path, synchronously.
      closed ??= new Promise<void>((resolve) => server.close(() => resolve()))
      return closed
    }
    return {
      isThere: () => fileAt(at) === own,
      stopAccepting: () => void stopAccepting(),
      async close() {
        for (const peer of peers) peer.close()
        const now = fileAt(at)
        if (closed === null && now !== null && now !== own) {
          // The path belongs to another socket now, which must stay. This one is unreachable and ends with the process.
          server.unref()
          return
        }
        await stopAccepting()
      },
    }
  },
}

/**
 * Connects to a socket of turnbell. Resolves with a peer that can send requests at once.
 *
 * `run_dir` is the directory of the socket in the home; its owner may own the socket too, for example if root calls a
 * user's daemon.
 *
 * @throws `daemon_unreachable` if nothing listens, `home_not_permitted` if the directory belongs to another user:
 * outside the home any user could create it first.
 */
export async function connectLocally(
  at: string,
  handlers: Partial<RpcHandlers> = {},
  run_dir?: string,
): Promise<RpcPeer> {
  if (!isNamedPipe(at)) requireOwner(path.dirname(at), run_dir)
  return new Promise((resolve, reject) => {
    const socket = net.connect(at)
    const failed = (cause: Error) => {
      reject(new TurnbellError('daemon_unreachable', { detail: `${at}: ${cause.message}`, cause }))
    }
    socket.once('error', failed)
    socket.once('connect', () => {
      socket.off('error', failed)
      resolve(
        createRpcPeer(socket, () => ({
          onRequest(method) {
            throw new TurnbellError('unknown_verb', { detail: `${method} is not a method of this socket` })
          },
          onClose() {},
          ...handlers,
        })),
      )
    })
  })
}

/**
 * Checks that the directory of a socket belongs to this user, because its owner controls who answers. A missing
 * directory means that nothing listens.
 */
function requireOwner(directory: string, run_dir: string | undefined): void {
  const owner = ownerOf(directory)
  if (owner === undefined || owner === process.getuid?.()) return
  if (run_dir !== undefined && owner === ownerOf(run_dir)) return
  throw new TurnbellError('home_not_permitted', {
    detail: `${directory} belongs to user ${owner}, not to ${process.getuid?.()}; its sockets are not yours`,
    hint: `Use a home of your own, with a shorter path. If ${directory} is in /tmp, another user created it.`,
  })
}

const ownerOf = (directory: string) => {
  const stat = lookAt(directory)
  return stat === null ? undefined : Number(stat.uid)
}

function rejectConnection(socket: net.Socket): void {
  const detail = `${LIMITS.socket_clients_max} programs are connected to this socket`
  const data = toProblem(new TurnbellError('limit_reached', { detail }), randomUUID())
  const error = { code: RPC_ERRORS.refused, message: data.title, data }
  socket.on('error', () => {})
  socket.end(`${JSON.stringify({ jsonrpc: '2.0', id: null, error })}\n`, () => socket.destroy())
}

function checkLength(socket: string): void {
  // The limit includes the terminating zero; Node.js would truncate a longer path silently and bind another file.
  const max =
    process.platform === 'darwin' ? LIMITS.socket_path_bytes_max : LIMITS.socket_path_bytes_max_linux
  if (Buffer.byteLength(socket) + 1 > max) {
    throw new TurnbellError('bind_failed', {
      detail: `${socket} is longer than ${max} bytes, the maximum of a socket path`,
      hint: 'Use a home with a shorter path: --home DIR or TURNBELL_HOME.',
    })
  }
}

/** Whether a process accepts connections there. */
export function listens(at: string | net.TcpNetConnectOpts): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = net.connect(typeof at === 'string' ? { path: at } : at)
    socket.once('connect', () => {
      socket.destroy()
      resolve(true)
    })
    socket.once('error', () => resolve(false))
  })
}
