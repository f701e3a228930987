/** Two ends of a connection in this process: what one writes, the other reads in the same turn. */
import { Duplex } from 'node:stream'

class End extends Duplex {
  other!: End
  readonly remoteAddress = '127.0.0.1'

  override _read(): void {}
  override _write(chunk: Buffer, _: string, done: () => void): void {
    if (!this.other.destroyed) this.other.push(chunk)
    done()
  }
  override _final(done: () => void): void {
    if (!this.other.destroyed) this.other.push(null)
    done()
  }
  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    if (!this.other.destroyed && !this.other.readableEnded) this.other.push(null)
    done(error)
  }

  // What Node's servers set on a socket.
  setTimeout(): this {
    return this
  }
  setNoDelay(): this {
    return this
  }
  setKeepAlive(): this {
    return this
  }
  ref(): this {
    return this
  }
  unref(): this {
    return this
  }
}

export function wire(): { ours: Duplex; theirs: Duplex } {
  const [ours, theirs] = [new End(), new End()]
  ours.other = theirs
  theirs.other = ours
  ours.on('error', () => {})
  return { ours, theirs }
}

/** Collects what arrives at an end, and knows when nothing more will. */
export class Heard {
  private readonly chunks: Buffer[] = []
  bytes = 0
  ended = false

  constructor(stream: Duplex) {
    stream.on('data', (chunk: Buffer) => {
      this.chunks.push(chunk)
      this.bytes += chunk.length
    })
    for (const event of ['end', 'close', 'error']) stream.on(event, () => (this.ended = true))
  }

  all(): Buffer {
    return Buffer.concat(this.chunks)
  }

  /** Resolves once `done` holds, the other side has hung up, or nothing has come for some turns of the loop. */
  async until(done: () => boolean, quiet_turns = 25): Promise<void> {
    for (let quiet = 0, bytes = this.bytes; quiet < quiet_turns && !this.ended && !done(); quiet += 1) {
      await turn()
      if (this.bytes !== bytes) {
        quiet = 0
        bytes = this.bytes
      }
    }
  }
}

export function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}
