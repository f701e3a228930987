/** A fake embedding model with known results: one dimension for each subject, by the words that belong to it. */
import { TurnbellError } from '../../../src/contracts/errors/errors.ts'
import type { Embedder } from '../../../src/ports/embedder.ts'
import type { StoredVectors, VectorStore } from '../../../src/ports/vector-store.ts'

const SUBJECTS = [/log ?in|sign ?in|auth|password/gi, /cache|redis|memory/gi, /deploy|release|ship/gi]

export interface PlayedEmbedder extends Embedder {
  /** All batches that it received. */
  asked: string[][]
  /** Makes it reject requests, or answer again with null. */
  fail(detail: string | null): void
  /** Delays responses until the returned function is called. */
  hold(): () => void
}

export function playedEmbedder(model = 'played'): PlayedEmbedder {
  const asked: string[][] = []
  let trouble: string | null = null
  let held: Promise<void> | null = null
  return {
    model,
    asked,
    fail: (detail) => void (trouble = detail),
    hold() {
      let release = () => {}
      held = new Promise<void>((done) => (release = done))
      return release
    },
    async embed(texts) {
      asked.push([...texts])
      await held
      if (trouble !== null) throw new TurnbellError('embedding_failed', { detail: trouble, hint: 'Mend it.' })
      return texts.map(vectorOf)
    },
  }
}

/** The last dimension is for texts about none of the subjects. */
export function vectorOf(text: string): Float32Array {
  const counts = SUBJECTS.map((subject) => text.match(subject)?.length ?? 0)
  const vector = [...counts, counts.every((count) => count === 0) ? 1 : 0]
  const length = Math.hypot(...vector)
  return Float32Array.from(vector, (value) => value / length)
}

export interface PlayedShelf extends VectorStore {
  kept: StoredVectors | null
  saves: number
  /** Whether it drops all writes. */
  broken: boolean
}

export function playedShelf(kept: StoredVectors | null = null): PlayedShelf {
  return {
    kept,
    saves: 0,
    broken: false,
    load() {
      return Promise.resolve(this.kept)
    },
    save(vectors) {
      if (this.broken) return Promise.reject(new Error('the disk is full'))
      this.kept = vectors
      this.saves++
      return Promise.resolve()
    },
  }
}
