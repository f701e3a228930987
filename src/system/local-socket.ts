/** Owner-only Unix sockets: Node makes them 0755, so the umask is narrowed around `listen`. */
import { randomUUID } from 'node:crypto'
import fs from 'node:fs'
import net from 'node:net'
import path from 'node:path'
import { RPC_ERRORS } from '../contracts/control.ts'
import { toProblem, TurnbellError } from '../contracts/errors.ts'
import { LIMITS } from '../contracts/limits.ts'
import type { LocalSockets, RpcHandlers, RpcPeer } from '../ports/rpc.ts'
import { ensurePrivateDirectory } from './home.ts'
import { createRpcPeer } from './rpc-peer.ts'

/**
 * Listens on a path inside a private directory, mode 0600. The caller must hold the lock of that
 * directory: a socket file found there is a dead one's and is replaced.
 *
 * @throws `home_not_permitted` for an unsafe directory, `bind_failed` otherwise.
 */
export async function listenPrivately(server: net.Server, directory: string, socket: string): Promise<void> {
  const named_pipe = isNamedPipe(socket)
  if (!named_pipe) {
    ensurePrivateDirectory(directory)
    checkLength(socket)
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

/** Of Windows: a name, and no file. */
export const isNamedPipe = (socket: string) => socket.startsWith('\\\\')

/** Takes the socket file away; that it is gone already is fine. */
export function removeSocket(socket: string): void {
  if (!isNamedPipe(socket)) fs.rmSync(socket, { force: true })
}

/** Which file a socket is; null where there is none to be told apart, as there is none of a named pipe. */
function fileAt(socket: string): string | null {
  if (isNamedPipe(socket)) return null
  const stat = fs.lstatSync(socket, { throwIfNoEntry: false, bigint: true })
  return stat === undefined ? null : `${stat.dev}:${stat.ino}:${stat.birthtimeNs}`
}

/** The real local sockets. */
export const localSockets: LocalSockets = {
  async listen({ directory, path: at }, onPeer) {
    const peers = new Set<RpcPeer>()
    const server = net.createServer((socket) => {
      if (peers.size >= LIMITS.socket_clients_max) return turnAway(socket)
      const peer = createRpcPeer(socket, onPeer)
      peers.add(peer)
      socket.on('close', () => peers.delete(peer))
    })
    await listenPrivately(server, directory, at)
    const own = fileAt(at)
    return {
      isThere: () => fileAt(at) === own,
      async close() {
        const now = fileAt(at)
        for (const peer of peers) peer.close()
        if (now !== null && now !== own) {
          // Closing would unlink the path, which is another's now. Nobody can reach this one; it ends with the process.
          server.unref()
          return
        }
        const closed = new Promise<void>((resolve) => server.close(() => resolve()))
        removeSocket(at)
        await closed
      },
    }
  },
}

/**
 * Connects to a socket of ours. Resolves with a peer that may be asked at once.
 *
 * `run_dir` is where the socket belongs in the home: who owns that may answer too, as where root asks a person's daemon.
 *
 * @throws `daemon_unreachable` when nobody listens, `home_not_permitted` where the directory is another user's: outside the
 * home it lies where anybody may make it first.
 */
export async function connectLocally(
  at: string,
  handlers: Partial<RpcHandlers> = {},
  run_dir?: string,
): Promise<RpcPeer> {
  if (!isNamedPipe(at)) needOwn(path.dirname(at), run_dir)
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
            throw new TurnbellError('unknown_verb', { detail: `${method} is not answered here` })
          },
          onClose() {},
          ...handlers,
        })),
      )
    })
  })
}

/** Who owns the directory of a socket decides who answers there. That there is none says that nobody does. */
function needOwn(directory: string, run_dir: string | undefined): void {
  const owner = ownerOf(directory)
  if (owner === undefined || owner === process.getuid?.()) return
  if (run_dir !== undefined && owner === ownerOf(run_dir)) return
  throw new TurnbellError('home_not_permitted', {
    detail: `${directory} belongs to user ${owner}, not to ${process.getuid?.()}; who answers there is not yours`,
    hint: `Use a home of your own, with a shorter path. If ${directory} lies in /tmp, somebody else has made it.`,
  })
}

const ownerOf = (directory: string) => fs.lstatSync(directory, { throwIfNoEntry: false })?.uid

function turnAway(socket: net.Socket): void {
  const detail = `${LIMITS.socket_clients_max} programs are connected to this socket`
  const data = toProblem(new TurnbellError('limit_reached', { detail }), randomUUID())
  const error = { code: RPC_ERRORS.refused, message: data.title, data }
  socket.on('error', () => {})
  socket.end(`${JSON.stringify({ jsonrpc: '2.0', id: null, error })}\n`, () => socket.destroy())
}

function checkLength(socket: string): void {
  // The bound counts the terminating zero; Node would cut a longer path silently and bind another file.
  const max =
    process.platform === 'darwin' ? LIMITS.socket_path_bytes_max : LIMITS.socket_path_bytes_max_linux
  if (Buffer.byteLength(socket) + 1 > max) {
    throw new TurnbellError('bind_failed', {
      detail: `${socket} is longer than the ${max} bytes a socket path may have`,
      hint: 'Use a home with a shorter path: --home DIR or TURNBELL_HOME.',
    })
  }
}

/** Whether somebody answers there. */
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
