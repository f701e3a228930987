/** Two ends of a connection in this process: data written at one end is read at the other in the same tick. */
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

  // Required by Node's servers.
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

/** Collects the data that arrives at an end and detects when no more follows. */
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

  /** Resolves when `done` holds, the other end has closed, or no data has arrived for some ticks of the event loop. */
  async until(done: () => boolean, quiet_turns = 25): Promise<void> {
    for (let quiet = 0, bytes = this.bytes; quiet < quiet_turns && !this.ended && !done(); quiet += 1) {
      await tick()
      if (this.bytes !== bytes) {
        quiet = 0
        bytes = this.bytes
      }
    }
  }
}

export function tick(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}
