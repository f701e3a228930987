/**
 * An inbox between the worker and the client that holds each doorbell until the scene passes it on, like a client that
 * has not read it yet. For sessions whose permission mode accepts messages from any process.
 */
import fs from 'node:fs'
import net from 'node:net'
import path from 'node:path'
import type { ClaudeWorld } from './claude-world.ts'
import { eventually } from '../eventually.ts'

/** Relative to the client's home. */
export const HELD_INBOX = 'held.sock'

export interface HeldInbox {
  /** Resolves when a doorbell was posted; the client does not have it yet. */
  posted(): Promise<unknown>
  /** Passes the posted doorbells on. Resolves when the client has read them. */
  passOn(): Promise<void>
}

export async function holdInbox(world: ClaudeWorld): Promise<HeldInbox> {
  const held: { from: net.Socket; bytes: Buffer[] }[] = []
  const server = net.createServer({ allowHalfOpen: true }, (from) => {
    const bytes: Buffer[] = []
    from.on('error', () => from.destroy())
    from.on('data', (chunk: Buffer) => bytes.push(chunk))
    from.on('end', () => held.push({ from, bytes }))
  })
  await new Promise<void>((resolve) => server.listen(path.join(world.directory, HELD_INBOX), resolve))
  world.onClose(() => {
    for (const { from } of held) from.destroy()
    server.close()
  })
  return {
    posted: () => eventually('a doorbell is posted', () => held.length > 0),
    async passOn() {
      for (const { from, bytes } of held.splice(0)) {
        await readBy(clientSocket(world), Buffer.concat(bytes))
        from.destroy()
      }
    },
  }
}

/** Returns the client's own socket. */
function clientSocket(world: ClaudeWorld): string {
  const folder = path.join(world.directory, 'tmp/cc-socks')
  const [name] = fs.readdirSync(folder).filter((file) => file.endsWith('.sock'))
  if (name === undefined) throw new Error(`no socket of a client in ${folder}`)
  return path.join(folder, name)
}

function readBy(socket: string, bytes: Buffer): Promise<void> {
  return new Promise((resolve, reject) => {
    const to = net.connect(socket)
    to.once('error', reject)
    to.once('close', () => resolve())
    to.resume()
    to.end(bytes)
  })
}
