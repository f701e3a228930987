/**
 * Vectors by id, with an exact search by cosine.
 *
 * Every vector is compared. For the ten thousand texts of a project that takes a few milliseconds, and an approximate
 * index would have to be stored and could miss results.
 */

export interface VectorIndex {
  readonly dimension: number
  readonly size: number
  has(id: string): boolean
  /** Adds or replaces a vector of any length above 0. Throws RangeError for another dimension. */
  put(id: string, vector: Float32Array): void
  /** Has no effect for an unknown id. */
  remove(id: string): void
  /** Returns the cosine to each vector by its id; negative values become 0. */
  search(vector: Float32Array): Map<string, number>
  /** Returns copies of length 1. */
  entries(): { id: string; vector: Float32Array }[]
}

/** Number of vectors. */
const INITIAL_CAPACITY = 64

export function createVectorIndex(dimension: number): VectorIndex {
  const ids: string[] = []
  const places = new Map<string, number>()
  // One contiguous array, because sequential memory access is fastest.
  let packed = new Float32Array(INITIAL_CAPACITY * dimension)

  function unit(vector: Float32Array): Float32Array {
    if (vector.length !== dimension) {
      throw new RangeError(`expected a vector of dimension ${dimension}, found ${vector.length}`)
    }
    const length = Math.sqrt(dot(vector, vector, 0))
    return length > 0 && Number.isFinite(length) ? vector.map((value) => value / length) : vector.map(() => 0)
  }

  return {
    dimension,
    get size() {
      return ids.length
    },
    has: (id) => places.has(id),
    put(id, vector) {
      const one = unit(vector)
      const place = places.get(id) ?? ids.push(id) - 1
      places.set(id, place)
      if ((place + 1) * dimension > packed.length) {
        const larger = new Float32Array(packed.length * 2)
        larger.set(packed)
        packed = larger
      }
      packed.set(one, place * dimension)
    },
    remove(id) {
      const place = places.get(id)
      if (place === undefined) return
      // The last vector moves to the free place.
      const last = ids.length - 1
      const moved = ids[last] ?? id
      packed.copyWithin(place * dimension, last * dimension, (last + 1) * dimension)
      ids[place] = moved
      places.set(moved, place)
      ids.pop()
      places.delete(id)
    },
    search(vector) {
      const one = unit(vector)
      const scores = new Map<string, number>()
      for (let place = 0; place < ids.length; place++) {
        scores.set(ids[place]!, Math.min(1, Math.max(0, dot(one, packed, place * dimension))))
      }
      return scores
    },
    entries: () =>
      ids.map((id, place) => ({ id, vector: packed.slice(place * dimension, (place + 1) * dimension) })),
  }
}

/** Dot product of `a` and `b` from `start`. Four sums, so that additions do not wait for each other. */
function dot(a: Float32Array, b: Float32Array, start: number): number {
  let s0 = 0
  let s1 = 0
  let s2 = 0
  let s3 = 0
  let at = 0
  for (const end = a.length - 3; at < end; at += 4) {
    s0 += a[at]! * b[start + at]!
    s1 += a[at + 1]! * b[start + at + 1]!
    s2 += a[at + 2]! * b[start + at + 2]!
    s3 += a[at + 3]! * b[start + at + 3]!
  }
  for (; at < a.length; at++) s0 += a[at]! * b[start + at]!
  return s0 + s1 + s2 + s3
}
