/**
 * Finds the signal that was stored under a sender's idempotency key. The index holds only a hash of sender
 * and key; the key itself is compared with the line on disk, so hash collisions are harmless.
 */
import type { Identity } from '../../../../contracts/ids.ts'
import type { SignalHead } from '../../journal/journal-entries.ts'
import type { Location, Row } from './signal-rows.ts'
import { createHeaderReader } from '../signal-line-header.ts'
import { textHash, type SignalIndex } from './signal-index.ts'

export class IdempotencyIndex {
  private readonly index: SignalIndex
  private readonly readLine: (at: Location) => Buffer
  private readonly readHeader = createHeaderReader()

  constructor(index: SignalIndex, readLine: (at: Location) => Buffer) {
    this.index = index
    this.readLine = readLine
  }

  /** Returns the newest signal of this sender with this key, or -1. */
  find(from: Identity, key: string): Row {
    const hash = hashOf(from, key)
    return this.index.keys.find(hash, (row) => {
      if (this.index.rows.get(row, 'key_hash') !== hash) return false
      const head = this.head(row)
      return head.idempotency_key === key && head.from === from
    })
  }

  /** Makes the row the owner of the key, replacing `before`, the row that `find` returned. */
  set(row: Row, from: Identity, key: string, before: Row): void {
    this.index.setKeyOwner(row, hashOf(from, key), before)
  }

  private head(row: Row): SignalHead {
    const line = this.readLine(this.index.rows.location(row))
    return this.readHeader(line, 0, line.length)
  }
}

function hashOf(from: Identity, key: string): number {
  return textHash(`${from} ${key}`)
}
