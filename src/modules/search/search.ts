/**
 * How well each document fits what somebody asks: by meaning where a model can be asked, by words where not.
 *
 * A search never fails for want of a model, and never waits long for one. What it answers then says that it
 * is less than it could be, and what to do about it.
 */
import { TurnbellError } from '../../contracts/errors.ts'
import { LIMITS } from '../../contracts/limits.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Embedder } from '../../ports/embedder.ts'
import type { Log } from '../../ports/log.ts'
import type { VectorShelf } from '../../ports/vector-shelf.ts'
import { embedAll } from './embed-all.ts'
import { createKeywordIndex } from './keyword-index.ts'
import { createMeanings, type Meanings } from './meanings.ts'
import type { ReadDoc } from './search-doc.ts'

export interface SearchNeeds<T extends object> {
  /** Null where no model is configured. */
  embedder: Embedder | null
  /** Null where no vectors are to be kept. */
  shelf: VectorShelf | null
  read: ReadDoc<T>
  clock: Pick<Clock, 'after' | 'soon'>
  log: Log
}

export interface Search<T extends object> {
  /**
   * How well each fits, in [0, 1] by its id; what does not fit at all may be left out. `rows` are all that
   * there is, whatever the caller makes of the answer: what is not among them is forgotten.
   */
  rank(rows: readonly T[], query: string): Promise<Ranking>
  /**
   * These are the rows now. What is new of them is read in the background, so that no query waits for it; never fails.
   */
  learn(rows: readonly T[]): void
  /** Resolves when everything in the background is done, or cannot be done. */
  settle(): Promise<void>
  /** Ends the work in the background soon, and keeps what it has done. */
  close(): Promise<void>
}

export interface Ranking {
  scores: Map<string, number>
  /** Whether words stood in for meaning, at least for some of the documents. */
  degraded: boolean
  /** For the person who could mend it. */
  degraded_reason?: string
}

/** The reason where nobody brought one. */
export const NO_MODEL =
  'No model is configured, so texts are found by their words: name the folder of one in config.yaml, `memory.model_dir`.'

export function createSearch<T extends object>(needs: SearchNeeds<T>): Search<T> {
  const { embedder, read, clock, log } = needs
  const keywords = createKeywordIndex<T>({
    ...{ read, pause: () => new Promise<void>((turned) => clock.soon(turned)) },
  })
  const meanings = embedder === null ? null : createMeanings<T>({ ...needs, embedder })
  /** Why it failed when it was last asked. */
  let trouble: string | null = null
  let learning: Promise<void> = Promise.resolve()

  function working(): null {
    if (trouble !== null) log.info({ model: embedder?.model }, 'texts are embedded again')
    trouble = null
    return null
  }

  function broken(error: unknown): string {
    const reason = error instanceof TurnbellError ? `${error.detail}. ${error.hint}` : String(error)
    // Once, and not at every search while it stays so.
    if (trouble !== reason) log.warn({ err: error, model: embedder?.model }, `searching by words: ${reason}`)
    trouble = reason
    return reason
  }

  async function byWords(rows: readonly T[], query: string, reason: string): Promise<Ranking> {
    await keywords.sync(rows)
    return { scores: keywords.search(query), degraded: true, degraded_reason: reason }
  }

  /** Whoever asks next hears of its failure. */
  function inBackground(work: Promise<void>): void {
    const told = work.then(working, broken)
    learning = learning.then(() => told).then(() => {})
  }

  async function byMeaning(
    rows: readonly T[],
    query: string,
    embedder: Embedder,
    meanings: Meanings<T>,
  ): Promise<Ranking> {
    await meanings.follow(rows)
    const [vector = new Float32Array()] = await embedAll(embedder, [query])
    await meanings.expect(vector.length)
    let reason: string | null = null
    if (meanings.missing().size > LIMITS.search_waited_texts_max) inBackground(meanings.catchUp())
    else reason = await meanings.catchUp().then(working, broken)
    const missing = meanings.missing()
    const scores = meanings.search(vector)
    if (missing.size === 0) return { scores, degraded: false }
    reason ??= `${missing.size} of ${rows.length} texts are not embedded yet and are found by their words; ask again soon.`
    const words = await byWords(rows, query, reason)
    for (const id of missing) scores.set(id, words.scores.get(id) ?? 0)
    return { ...words, scores }
  }

  return {
    async rank(rows, query) {
      if (query.trim() === '') return { scores: new Map(), degraded: false }
      if (embedder === null || meanings === null) return byWords(rows, query, NO_MODEL)
      try {
        return await within(clock, byMeaning(rows, query, embedder, meanings))
      } catch (error) {
        if (!(error instanceof TurnbellError && error.code === 'embedding_failed')) throw error
        return byWords(rows, query, broken(error))
      }
    },
    learn(rows) {
      if (meanings === null) inBackground(keywords.sync(rows))
      else inBackground(meanings.follow(rows).then(() => meanings.catchUp()))
    },
    async settle() {
      await learning
      await meanings?.save()
    },
    close: async () => meanings?.close(),
  }
}

/** A model that takes too long goes on by itself; whoever asks later has it. */
function within<T>(clock: Pick<Clock, 'after'>, promise: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = clock.after(LIMITS.search_wait_ms, () =>
      reject(
        new TurnbellError('embedding_failed', {
          detail: `the model gave no answer within ${LIMITS.search_wait_ms / 1_000} s`,
          hint: 'It may still be loading: ask again in a moment.',
        }),
      ),
    )
    promise.then(resolve, reject).finally(() => timer.cancel())
  })
}
