/** Reads single journal lines. Keeps a few segment files open. */
import { TurnbellError } from '../../../contracts/errors/errors.ts'
import type { Disk } from './disk.ts'
import { isValidLine } from './sealed-line.ts'
import { toStoreError } from './disk-errors.ts'
import type { Location } from '../signals/index/signal-rows.ts'
import { segmentFile } from './segments.ts'

const FILES_MAX = 16

export class LineReader {
  private readonly disk: Disk
  private readonly directory: string
  /** File descriptors by segment, the most recently used last. */
  private readonly fds = new Map<number, number>()

  constructor(disk: Disk, directory: string) {
    this.disk = disk
    this.directory = directory
  }

  /** Returns the line's bytes. Throws `store_damaged` if they do not match the line's checksum. */
  read({ segment, offset, length }: Location): Buffer {
    const line = Buffer.allocUnsafe(length)
    const filled = this.fill(line, segment, offset)
    if (filled === length && isValidLine(line, 0, length)) return line
    throw new TurnbellError('store_damaged', {
      detail: `${segmentFile(this.directory, segment)} at byte ${offset}: the line does not match its checksum`,
    })
  }

  /** Call when the segment's file was replaced or removed. */
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
      throw toStoreError(cause, `${segmentFile(this.directory, segment)} cannot be read at byte ${offset}`)
    }
  }

  private fd(segment: number): number {
    const open_fd = this.fds.get(segment)
    const fd = open_fd ?? this.disk.open(segmentFile(this.directory, segment), 'read')
    this.fds.delete(segment)
    const [oldest] = this.fds.keys()
    if (this.fds.size >= FILES_MAX && oldest !== undefined) this.forget(oldest)
    this.fds.set(segment, fd)
    return fd
  }
}
