/**
 * The vectors of a project's texts, kept in step with its rows: what is new is embedded in the background,
 * what is gone is dropped, and all of it lies on a shelf for the next start.
 */
import { createHash } from 'node:crypto'
import { LIMITS } from '../../contracts/limits.ts'
import type { Clock, Timer } from '../../ports/clock.ts'
import type { Embedder } from '../../ports/embedder.ts'
import type { Log } from '../../ports/log.ts'
import type { VectorShelf } from '../../ports/vector-shelf.ts'
import { embedAll } from './embed-all.ts'
import { createRowChanges } from './row-changes.ts'
import type { ReadDoc, SearchDoc } from './search-doc.ts'
import { createVectorIndex, type VectorIndex } from './vector-index.ts'

export interface MeaningsNeeds<T extends object> {
  embedder: Embedder
  /** Null where nothing is to be kept. */
  shelf: VectorShelf | null
  read: ReadDoc<T>
  clock: Pick<Clock, 'after' | 'soon'>
  log: Log
}

export interface Meanings<T extends object> {
  /** Takes over which texts there are. Embeds nothing yet. */
  follow(rows: readonly T[]): Promise<void>
  /** Vectors of another dimension than this cannot be compared with what the model says now: they are missing again. */
  expect(dimension: number): Promise<void>
  /** Ids whose text has no vector yet. */
  missing(): ReadonlySet<string>
  /** Embeds what is missing until nothing is, or `close`. Rejects as the embedder does; what is missing stays so. */
  catchUp(): Promise<void>
  /** The cosine to each text that has a vector. */
  search(vector: Float32Array): Map<string, number>
  /** Resolves when what was embedded lies on the shelf. */
  save(): Promise<void>
  /** Ends the catching up after the batch under way, then saves. Calling it twice is fine. */
  close(): Promise<void>
}

/** Rows or vectors that are looked at before others have the loop: some five milliseconds. */
const SLICE = 200

interface Wanted {
  text: string
  digest: string
}

export function createMeanings<T extends object>(needs: MeaningsNeeds<T>): Meanings<T> {
  const { embedder, shelf, read, clock, log } = needs
  let index: VectorIndex | null = null
  let rows: readonly T[] = []
  let changesOf = createRowChanges<T>()
  /** Of the texts that have a vector. */
  const digests = new Map<string, string | null>()
  const wanted = new Map<string, Wanted>()
  const ids = new WeakMap<T, string>()
  let queue = Promise.resolve()
  let catching: Promise<void> | null = null
  let opened = false
  let closed = false
  let changed = false
  let saveTimer: Timer | null = null
  let saving = Promise.resolve()

  async function breathe(at: number): Promise<void> {
    if (at % SLICE === SLICE - 1) await new Promise<void>((turned) => clock.soon(turned))
  }

  async function open(): Promise<void> {
    opened = true
    const kept = shelf === null ? null : await shelf.load()
    if (kept === null || kept.model !== embedder.model) return
    index = createVectorIndex(kept.dimension)
    for (const [at, { id, digest, vector }] of kept.entries.entries()) {
      await breathe(at)
      index.put(id, vector)
      digests.set(id, digest)
    }
  }

  async function take(next: readonly T[]): Promise<void> {
    const first = !opened
    if (first) await open()
    rows = next
    const { added, removed } = changesOf(next)
    // On the shelf there may be some that went while nobody looked.
    const gone = new Set(first ? digests.keys() : removed.map((row) => ids.get(row)))
    for (const [at, row] of added.entries()) {
      await breathe(at)
      const doc = read(row)
      ids.set(row, doc.id)
      gone.delete(doc.id)
      want(doc)
    }
    for (const id of gone) if (id !== undefined) forget(id)
  }

  function follow(next: readonly T[]): Promise<void> {
    const taken = queue.then(() => take(next))
    queue = taken.catch(() => {})
    return taken
  }

  function want(doc: SearchDoc): void {
    const text = meaningOf(doc)
    const digest = createHash('sha256').update(text).digest('hex').slice(0, 16)
    const has = digests.get(doc.id)
    // One whose text nobody told may be of this one: it was kept for this id.
    if (has !== digest && has !== null) return void wanted.set(doc.id, { text, digest })
    wanted.delete(doc.id)
    digests.set(doc.id, digest)
  }

  function forget(id: string): void {
    wanted.delete(id)
    if (!digests.delete(id)) return
    index?.remove(id)
    touch()
  }

  async function work(): Promise<void> {
    while (wanted.size > 0 && !closed) {
      const batch = [...wanted].slice(0, LIMITS.embedder_batch_max)
      const vectors = await embedAll(
        embedder,
        batch.map(([, { text }]) => text),
      )
      const dimension = vectors[0]?.length ?? 0
      await expect(dimension)
      index ??= createVectorIndex(dimension)
      for (const [at, [id, one]] of batch.entries()) {
        const vector = vectors[at]
        // Its text may have changed, or gone, while it was embedded.
        if (vector === undefined || wanted.get(id) !== one) continue
        wanted.delete(id)
        digests.set(id, one.digest)
        index.put(id, vector)
        touch()
      }
    }
  }

  async function expect(dimension: number): Promise<void> {
    if (index === null || index.dimension === dimension) return
    index = null
    digests.clear()
    wanted.clear()
    changesOf = createRowChanges<T>()
    await follow(rows)
  }

  function touch(): void {
    changed = true
    if (shelf === null || closed) return
    saveTimer ??= clock.after(LIMITS.vectors_save_ms, () => void save())
  }

  function save(): Promise<void> {
    saveTimer?.cancel()
    saveTimer = null
    return (saving = saving.then(write))
  }

  async function write(): Promise<void> {
    if (shelf === null || !changed || index === null) return
    changed = false
    const entries = index.entries().map(({ id, vector }) => ({ id, digest: digests.get(id) ?? null, vector }))
    try {
      await shelf.save({ model: embedder.model, dimension: index.dimension, entries })
    } catch (error) {
      // They are all made again at the next start, which costs time and nothing else.
      log.warn({ err: error }, 'vectors could not be kept; the next start makes them anew')
    }
  }

  return {
    follow,
    expect,
    missing: () => new Set(wanted.keys()),
    catchUp: () => (catching ??= work().finally(() => (catching = null))),
    search: (vector) => (index?.dimension === vector.length ? index.search(vector) : new Map()),
    save,
    async close() {
      closed = true
      await catching?.catch(() => {})
      await save()
    },
  }
}

/** What a model reads of a document. */
function meaningOf({ title, body }: SearchDoc): string {
  return `${title} ${body}`.trim()
}
