/** A model whose every answer is known: one dimension a subject, by the words that speak of it. */
import { TurnbellError } from '../../src/contracts/errors.ts'
import type { Embedder } from '../../src/ports/embedder.ts'
import type { KeptVectors, VectorShelf } from '../../src/ports/vector-shelf.ts'

const SUBJECTS = [/log ?in|sign ?in|auth|password/gi, /cache|redis|memory/gi, /deploy|release|ship/gi]

export interface PlayedEmbedder extends Embedder {
  /** Every batch it was asked for. */
  asked: string[][]
  /** From now on it refuses, or answers again. */
  fail(detail: string | null): void
  /** From now on answers wait, until the function that is handed back is called. */
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

/** The last dimension is for what speaks of none of the subjects. */
export function vectorOf(text: string): Float32Array {
  const counts = SUBJECTS.map((subject) => text.match(subject)?.length ?? 0)
  const vector = [...counts, counts.every((count) => count === 0) ? 1 : 0]
  const length = Math.hypot(...vector)
  return Float32Array.from(vector, (value) => value / length)
}

export interface PlayedShelf extends VectorShelf {
  kept: KeptVectors | null
  saves: number
  /** From now on it keeps nothing. */
  broken: boolean
}

export function playedShelf(kept: KeptVectors | null = null): PlayedShelf {
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
