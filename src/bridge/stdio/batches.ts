/** JSON-RPC batches on stdio: the answers to the requests of one line are sent together as one array. */
import type { RequestId } from '@modelcontextprotocol/server'

export interface Batches {
  /** Starts collecting the answers to these requests. */
  begin(ids: readonly RequestId[]): void
  /**
   * Collects the answer if its request belongs to a batch; otherwise returns null. The promise settles with
   * the write.
   */
  collect(id: RequestId, answer: BatchedAnswer): Promise<void> | null
  /** Removes a request that will get no answer. */
  drop(id: RequestId): void
}

export interface BatchedAnswer {
  /** JSON without a newline. */
  text: string
  id: RequestId
  how: 'result' | 'error'
}

/** Unanswered requests of one batch, and the answers collected so far. */
interface OpenBatch {
  waiting: Set<RequestId>
  answers: BatchedAnswer[]
  written: Promise<void>
  settle: (written: Promise<void>) => void
}

/** `write` sends the answers as one line. */
export function createBatches(write: (answers: readonly BatchedAnswer[]) => Promise<void>): Batches {
  const batchOf = new Map<RequestId, OpenBatch>()

  function finish(id: RequestId, batch: OpenBatch): void {
    batchOf.delete(id)
    batch.waiting.delete(id)
    if (batch.waiting.size > 0) return
    batch.settle(batch.answers.length === 0 ? Promise.resolve() : write(batch.answers))
  }

  return {
    begin(ids) {
      let settle: OpenBatch['settle'] = () => undefined
      const written = new Promise<void>((resolve) => (settle = resolve))
      written.catch(() => undefined)
      const batch: OpenBatch = { waiting: new Set(ids), answers: [], written, settle }
      for (const id of batch.waiting) batchOf.set(id, batch)
    },
    collect(id, answer) {
      const batch = batchOf.get(id)
      if (batch === undefined) return null
      batch.answers.push(answer)
      finish(id, batch)
      return batch.written
    },
    drop(id) {
      const batch = batchOf.get(id)
      if (batch !== undefined) finish(id, batch)
    },
  }
}
