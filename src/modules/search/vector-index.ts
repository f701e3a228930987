/**
 * Vectors by id, and which of them point the same way as another.
 *
 * Every one is compared: for the ten thousand texts of a project that takes a few milliseconds, and an index
 * that leaves some out would have to be kept and could be wrong.
 */

export interface VectorIndex {
  readonly dimension: number
  readonly size: number
  has(id: string): boolean
  /** Any length but none at all; in place of the one it had. @throws RangeError for another dimension. */
  put(id: string, vector: Float32Array): void
  /** Removing what is not there is no error. */
  remove(id: string): void
  /** The cosine to each by its id, in [0, 1]: what points away is as far off as what has nothing to do with it. */
  search(vector: Float32Array): Map<string, number>
  /** Copies, of length 1. */
  entries(): { id: string; vector: Float32Array }[]
}

const ROOM_AT_FIRST = 64

export function createVectorIndex(dimension: number): VectorIndex {
  const ids: string[] = []
  const places = new Map<string, number>()
  // All in one piece, one after the other: memory that is read in its order is read fastest.
  let packed = new Float32Array(ROOM_AT_FIRST * dimension)

  function unit(vector: Float32Array): Float32Array {
    if (vector.length !== dimension) {
      throw new RangeError(`a vector of dimension ${vector.length} among those of ${dimension}`)
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
      // The last one takes its place.
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

/** Of `a` with as much of `b` from `start` on. Four sums, because one would wait for itself at every step. */
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
