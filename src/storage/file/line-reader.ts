/** Reads single lines back, with a few files kept open. */
import { TurnbellError } from '../../contracts/errors.ts'
import type { Disk } from './disk.ts'
import { lineHolds } from './line.ts'
import { refusalOf } from './refusal.ts'
import type { Location } from './rows.ts'
import { segmentFile } from './segments.ts'

const FILES_MAX = 16

export class LineReader {
  private readonly disk: Disk
  private readonly directory: string
  /** By segment; the most recently used stands last. */
  private readonly fds = new Map<number, number>()

  constructor(disk: Disk, directory: string) {
    this.disk = disk
    this.directory = directory
  }

  /** The line's bytes. Throws `store_damaged` when they are not what was written. */
  read({ segment, offset, length }: Location): Buffer {
    const line = Buffer.allocUnsafe(length)
    const filled = this.fill(line, segment, offset)
    if (filled === length && lineHolds(line, 0, length)) return line
    throw new TurnbellError('store_damaged', {
      detail: `${segmentFile(this.directory, segment)} at byte ${offset}: the line is not what was written`,
    })
  }

  /** The file was replaced or taken away. */
  forget(segment: number): void {
    const fd = this.fds.get(segment)
    if (fd === undefined) return
    this.fds.delete(segment)
    this.disk.close(fd)
  }

  close(): void {
    for (const segment of [...this.fds.keys()]) this.forget(segment)
  }

  private fill(line: Buffer, segment: number, offset: number): number {
    try {
      return this.disk.read(this.fd(segment), line, offset)
    } catch (cause) {
      throw refusalOf(cause, `${segmentFile(this.directory, segment)} cannot be read at byte ${offset}`)
    }
  }

  private fd(segment: number): number {
    const known = this.fds.get(segment)
    const fd = known ?? this.disk.open(segmentFile(this.directory, segment), 'read')
    this.fds.delete(segment)
    const [oldest] = this.fds.keys()
    if (this.fds.size >= FILES_MAX && oldest !== undefined) this.forget(oldest)
    this.fds.set(segment, fd)
    return fd
  }
}
