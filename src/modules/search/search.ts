/**
 * Ranks documents for a query: by embeddings if a model is available, otherwise by keywords.
 *
 * A search never fails because of the model and waits at most `search_wait_ms` for it. A result of keywords is marked as
 * degraded, with the reason.
 */
import { TurnbellError } from '../../contracts/errors/errors.ts'
import { LIMITS } from '../../contracts/limits/limits.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Embedder } from '../../ports/embedder.ts'
import type { Log } from '../../ports/log.ts'
import type { VectorStore } from '../../ports/vector-store.ts'
import { embedAll } from './embed-all.ts'
import { createKeywordIndex } from './keyword-index.ts'
import { createEmbeddings, type Embeddings } from './embeddings.ts'
import type { ReadDoc } from './search-doc.ts'

export interface SearchDeps<T extends object> {
  /** Null if no model is configured. */
  embedder: Embedder | null
  /** Null if vectors are not saved. */
  vectors: VectorStore | null
  read: ReadDoc<T>
  clock: Pick<Clock, 'after' | 'soon'>
  log: Log
}

export interface Search<T extends object> {
  /**
   * Returns scores in [0, 1] by id; rows without a match may be missing. `rows` must be all rows, because others are
   * removed from the index.
   */
  rank(rows: readonly T[], query: string): Promise<Ranking>
  /** Indexes new rows in the background, so that no query waits for them. Never fails. */
  learn(rows: readonly T[]): void
  /** Resolves once all background work has finished or failed. */
  settle(): Promise<void>
  /** Stops background work and saves its results. */
  close(): Promise<void>
}

export interface Ranking {
  scores: Map<string, number>
  /** Whether at least some documents were ranked by keywords instead of embeddings. */
  degraded: boolean
  /** The cause and the fix, for the person. */
  degraded_reason?: string
}

/** The reason without a model. */
export const NO_MODEL =
  'No model is configured, so texts are found by keywords only: set `memory.model_dir` in config.yaml to the folder of a model.'

export function createSearch<T extends object>(deps: SearchDeps<T>): Search<T> {
  const { embedder, read, clock, log } = deps
  const keywords = createKeywordIndex<T>({
    read,
    pause: () => new Promise<void>((resolve) => clock.soon(resolve)),
  })
  const embeddings = embedder === null ? null : createEmbeddings<T>({ ...deps, embedder })
  /** The last error of the model; null while it works. */
  let failure: string | null = null
  let learning: Promise<void> = Promise.resolve()

  function onSuccess(): null {
    if (failure !== null) log.info({ model: embedder?.model }, 'model works again')
    failure = null
    return null
  }

  function onFailure(error: unknown): string {
    const reason = error instanceof TurnbellError ? `${error.detail}. ${error.hint}` : String(error)
    // Logged once, not at every search.
    if (failure !== reason)
      log.warn({ err: error, model: embedder?.model }, `model failed, searching by keywords: ${reason}`)
    failure = reason
    return reason
  }

  async function byKeywords(rows: readonly T[], query: string, reason: string): Promise<Ranking> {
    await keywords.sync(rows)
    return { scores: keywords.search(query), degraded: true, degraded_reason: reason }
  }

  /** A failure is returned by the next search. */
  function inBackground(work: Promise<void>): void {
    const settled = work.then(onSuccess, onFailure)
    learning = learning.then(() => settled).then(() => {})
  }

  async function byEmbeddings(
    rows: readonly T[],
    query: string,
    embedder: Embedder,
    embeddings: Embeddings<T>,
  ): Promise<Ranking> {
    await embeddings.follow(rows)
    const [vector = new Float32Array()] = await embedAll(embedder, [query])
    await embeddings.expect(vector.length)
    let reason: string | null = null
    if (embeddings.missing().size > LIMITS.search_new_texts_max) inBackground(embeddings.catchUp())
    else reason = await embeddings.catchUp().then(onSuccess, onFailure)
    const missing = embeddings.missing()
    const scores = embeddings.search(vector)
    if (missing.size === 0) return { scores, degraded: false }
    reason ??= `${missing.size} of ${rows.length} texts are not embedded yet and are found by keywords; search again soon.`
    const by_keywords = await byKeywords(rows, query, reason)
    for (const id of missing) scores.set(id, by_keywords.scores.get(id) ?? 0)
    return { ...by_keywords, scores }
  }

  return {
    async rank(rows, query) {
      if (query.trim() === '') return { scores: new Map(), degraded: false }
      if (embedder === null || embeddings === null) return byKeywords(rows, query, NO_MODEL)
      try {
        return await within(clock, byEmbeddings(rows, query, embedder, embeddings))
      } catch (error) {
        if (!(error instanceof TurnbellError && error.code === 'embedding_failed')) throw error
        return byKeywords(rows, query, onFailure(error))
      }
    },
    learn(rows) {
      if (embeddings === null) inBackground(keywords.sync(rows))
      else inBackground(embeddings.follow(rows).then(() => embeddings.catchUp()))
    },
    async settle() {
      await learning
      await embeddings?.save()
    },
    close: async () => embeddings?.close(),
  }
}

/** Rejects after `search_wait_ms`. The model continues in the background, for later searches. */
function within<T>(clock: Pick<Clock, 'after'>, promise: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = clock.after(LIMITS.search_wait_ms, () =>
      reject(
        new TurnbellError('embedding_failed', {
          detail: `the model did not respond within ${LIMITS.search_wait_ms / 1_000} s`,
          hint: 'It may still be loading; search again later.',
        }),
      ),
    )
    promise.then(resolve, reject).finally(() => timer.cancel())
  })
}
