/**
 * Which signal answers for a sender's idempotency key. The index keeps a hash of the two; that it really
 * is the key is read from the line, so that a hash that two keys share does no harm.
 */
import type { Identity } from '../../contracts/ids.ts'
import type { SignalHead } from './entries.ts'
import type { Location, Row } from './rows.ts'
import { createHeaderReader } from './signal-header.ts'
import { textHash, type SignalIndex } from './signal-index.ts'

export class KeyBook {
  private readonly index: SignalIndex
  private readonly readLine: (at: Location) => Buffer
  private readonly readHeader = createHeaderReader()

  constructor(index: SignalIndex, readLine: (at: Location) => Buffer) {
    this.index = index
    this.readLine = readLine
  }

  /** The newest signal of this sender with this key, or -1. */
  find(from: Identity, key: string): Row {
    const hash = hashOf(from, key)
    return this.index.keys.find(hash, (row) => {
      if (this.index.rows.get(row, 'key_hash') !== hash) return false
      const head = this.head(row)
      return head.idempotency_key === key && head.from === from
    })
  }

  /** The row answers for the key from now on, in place of the one that `find` has found. */
  note(row: Row, from: Identity, key: string, before: Row): void {
    this.index.addKey(row, hashOf(from, key), before)
  }

  private head(row: Row): SignalHead {
    const line = this.readLine(this.index.rows.location(row))
    return this.readHeader(line, 0, line.length)
  }
}

function hashOf(from: Identity, key: string): number {
  return textHash(`${from} ${key}`)
}
