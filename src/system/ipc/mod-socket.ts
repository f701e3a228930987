/**
 * The socket on which a Claude Code worker serves the module inside its client. The module knows only the client's pid, so
 * a pointer file in the home contains the path of the socket, which may be elsewhere because its length is limited.
 */
import fs from 'node:fs'
import type { Server } from 'node:net'
import path from 'node:path'
import { modulePointer } from '../../contracts/clients/module-pointer.ts'
import { ensureSocketDirectory, type Home, type PersonaPaths } from '../config/home.ts'
import { writeFileAtomic } from '../files/atomic-write.ts'
import { processAlive } from '../process/process-info.ts'
import { fileAt, listenPrivately } from './unix-socket.ts'

export interface ModSocket {
  /** Removes both files, unless a later worker has replaced them, and ends the connections. Never throws. */
  close(): void
}

/** Listens, then writes the pointer. @throws TurnbellError `bind_failed`, `home_not_permitted` */
export async function openModSocket(
  server: Server,
  { home, paths, client_pid }: { home: Home; paths: PersonaPaths; client_pid: number },
): Promise<ModSocket> {
  const pointer = modulePointer(home.root, client_pid)
  const socket = path.join(paths.socket_dir, `mod-${client_pid}.sock`)
  ensureSocketDirectory(paths)
  await listenPrivately(server, paths.socket_dir, socket)
  const isOwnSocket = sameFile(socket)
  writeFileAtomic(pointer, `${socket}\n`)
  const isOwnPointer = sameFile(pointer)
  return {
    close() {
      if (isOwnPointer()) remove(pointer)
      // Closing unlinks the path; a replaced socket is unreachable and ends with the process.
      if (!isOwnSocket()) {
        server.unref()
        return
      }
      server.close()
      remove(socket)
    },
  }
}

/** Returns whether the path still has the present file, or none. */
function sameFile(at: string): () => boolean {
  const own = fileAt(at)
  return () => {
    try {
      return [null, own].includes(fileAt(at))
    } catch {
      return false
    }
  }
}

/** Removes the files of clients that were killed together with their worker. */
export function removeOrphanedModSockets(home_root: string, alive = processAlive): void {
  const folder = path.join(home_root, 'run')
  let names: string[] = []
  try {
    names = fs.readdirSync(folder)
  } catch {
    return
  }
  for (const name of names) {
    const pid = Number(/^claude-(\d+)\.mod$/.exec(name)?.[1] ?? Number.NaN)
    if (!Number.isInteger(pid) || alive(pid)) continue
    const socket = socketIn(path.join(folder, name))
    if (socket !== null && path.basename(socket) === `mod-${pid}.sock`) remove(socket)
    remove(path.join(folder, name))
  }
}

function socketIn(pointer: string): string | null {
  try {
    return fs.readFileSync(pointer, 'utf8').trim()
  } catch {
    return null
  }
}

function remove(file: string): void {
  try {
    fs.rmSync(file, { force: true })
  } catch {
    // It has no effect without a listener, and the next worker replaces it.
  }
}
