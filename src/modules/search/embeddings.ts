/**
 * The embeddings of a project's texts. New rows are embedded in the background, vectors of removed rows are dropped, and
 * all vectors are saved for the next start.
 */
import type { Clock, Timer } from '../../ports/clock.ts'
import type { Embedder } from '../../ports/embedder.ts'
import type { Log } from '../../ports/log.ts'
import type { StoredVectors, VectorStore } from '../../ports/vector-store.ts'
import { LIMITS } from '../../contracts/limits/limits.ts'
import { embedAll } from './embed-all.ts'
import { createEmbeddedTexts } from './embedded-texts.ts'
import { createRowChanges } from './row-changes.ts'
import type { ReadDoc } from './search-doc.ts'
import { createSerialQueue } from '../../ports/serial-queue.ts'

export interface EmbeddingsDeps<T extends object> {
  embedder: Embedder
  /** Null if vectors are not saved. */
  vectors: VectorStore | null
  read: ReadDoc<T>
  clock: Pick<Clock, 'after' | 'soon'>
  log: Log
}

export interface Embeddings<T extends object> {
  /** Sets the current rows. Embeds nothing yet. */
  follow(rows: readonly T[]): Promise<void>
  /** Sets the dimension of the model's vectors. Vectors of another dimension are dropped, and their texts are missing. */
  expect(dimension: number): Promise<void>
  /** Ids of texts without a vector. */
  missing(): ReadonlySet<string>
  /** Embeds missing texts until none is left or `close` is called. Rejects if the embedder fails. */
  catchUp(): Promise<void>
  /** Returns the cosine to each text that has a vector. */
  search(vector: Float32Array): Map<string, number>
  /** Saves new vectors. Resolves also if the save failed, which is only logged. */
  save(): Promise<void>
  /** Stops embedding after the current batch, then saves. Idempotent. */
  close(): Promise<void>
}

/** Rows or vectors processed between two yields to the event loop; takes about five milliseconds. */
const SLICE = 200

export function createEmbeddings<T extends object>(deps: EmbeddingsDeps<T>): Embeddings<T> {
  const { embedder, vectors, read, clock } = deps
  const saver = createSaver(deps, () => texts.snapshot(embedder.model))
  const texts = createEmbeddedTexts(saver.changed)
  const ids = new WeakMap<T, string>()
  let rows: readonly T[] = []
  let changesOf = createRowChanges<T>()
  const enqueue = createSerialQueue()
  let catching_up: Promise<void> | null = null
  let opened = false
  let closed = false

  async function open(): Promise<void> {
    opened = true
    const saved = vectors === null ? null : await vectors.load()
    if (saved === null || saved.model !== embedder.model) return
    for (const [at, entry] of saved.entries.entries()) {
      await yieldAfterSlice(clock, at)
      texts.load(saved.dimension, entry)
    }
  }

  async function apply(next: readonly T[]): Promise<void> {
    const first = !opened
    if (first) await open()
    rows = next
    const { added, removed } = changesOf(next)
    // Rows may have been removed after the vectors were saved.
    const gone = new Set<string | undefined>(first ? texts.ids() : removed.map((row) => ids.get(row)))
    for (const [at, row] of added.entries()) {
      await yieldAfterSlice(clock, at)
      const doc = read(row)
      ids.set(row, doc.id)
      gone.delete(doc.id)
      texts.add(doc)
    }
    for (const id of gone) if (id !== undefined) texts.remove(id)
  }

  function follow(next: readonly T[]): Promise<void> {
    return enqueue(() => apply(next))
  }

  async function expect(dimension: number): Promise<void> {
    if (!texts.resetUnless(dimension)) return
    changesOf = createRowChanges<T>()
    await follow(rows)
  }

  async function embedMissing(): Promise<void> {
    while (!closed) {
      const batch = texts.nextBatch(LIMITS.embedder_batch_max)
      if (batch.length === 0) return
      const embedded = await embedAll(
        embedder,
        batch.map(({ text }) => text),
      )
      await expect(embedded[0]?.length ?? 0)
      texts.store(batch, embedded)
    }
  }

  return {
    follow,
    expect,
    missing: () => texts.missing(),
    catchUp: () => (catching_up ??= embedMissing().finally(() => (catching_up = null))),
    search: texts.search,
    save: saver.save,
    async close() {
      closed = true
      saver.stop()
      await catching_up?.catch(() => {})
      await saver.save()
    },
  }
}

async function yieldAfterSlice(clock: Pick<Clock, 'soon'>, at: number): Promise<void> {
  if (at % SLICE === SLICE - 1) await new Promise<void>((resolve) => clock.soon(resolve))
}

interface Saver {
  /** Schedules a save. */
  changed: () => void
  save: () => Promise<void>
  /** Schedules no further saves. */
  stop: () => void
}

function createSaver(
  { vectors, clock, log }: Pick<EmbeddingsDeps<object>, 'vectors' | 'clock' | 'log'>,
  snapshot: () => StoredVectors | null,
): Saver {
  let timer: Timer | null = null
  let unsaved = false
  let stopped = false
  let saving = Promise.resolve()

  async function write(): Promise<void> {
    if (vectors === null || !unsaved) return
    const current = snapshot()
    if (current === null) return
    unsaved = false
    try {
      await vectors.save(current)
    } catch (error) {
      // The next start embeds the texts again, which only costs time.
      log.warn({ err: error }, 'vectors not saved; the next start embeds the texts again')
    }
  }

  function save(): Promise<void> {
    timer?.cancel()
    timer = null
    return (saving = saving.then(write))
  }

  return {
    changed() {
      unsaved = true
      if (vectors === null || stopped) return
      timer ??= clock.after(LIMITS.vectors_save_ms, () => void save())
    },
    save,
    stop: () => void (stopped = true),
  }
}
