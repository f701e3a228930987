/** JSON-RPC batches on stdio: the answers to the requests of one line leave together, as one list. */
import type { RequestId } from '@modelcontextprotocol/server'

export interface Batches {
  /** From now on answers to these requests are collected. */
  begin(ids: readonly RequestId[]): void
  /** Keeps the answer for later if its request belongs to a batch; else null. Resolves or rejects with the write. */
  keep(id: RequestId, answer: BatchedAnswer): Promise<void> | null
  /** The request will have no answer. */
  drop(id: RequestId): void
}

export interface BatchedAnswer {
  /** JSON without a newline. */
  text: string
  id: RequestId
  how: 'result' | 'error'
}

/** Not answered requests of one batch, and the answers that there are. */
interface Open {
  waiting: Set<RequestId>
  answers: BatchedAnswer[]
  written: Promise<void>
  settle: (written: Promise<void>) => void
}

/** `write` sends the answers as one line. */
export function createBatches(write: (answers: readonly BatchedAnswer[]) => Promise<void>): Batches {
  const batchOf = new Map<RequestId, Open>()

  function done(id: RequestId, batch: Open): void {
    batchOf.delete(id)
    batch.waiting.delete(id)
    if (batch.waiting.size > 0) return
    batch.settle(batch.answers.length === 0 ? Promise.resolve() : write(batch.answers))
  }

  return {
    begin(ids) {
      let settle: Open['settle'] = () => undefined
      const written = new Promise<void>((resolve) => (settle = resolve))
      written.catch(() => undefined)
      const batch: Open = { waiting: new Set(ids), answers: [], written, settle }
      for (const id of batch.waiting) batchOf.set(id, batch)
    },
    keep(id, answer) {
      const batch = batchOf.get(id)
      if (batch === undefined) return null
      batch.answers.push(answer)
      done(id, batch)
      return batch.written
    },
    drop(id) {
      const batch = batchOf.get(id)
      if (batch !== undefined) done(id, batch)
    },
  }
}
