import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createVectorIndex } from '../../../../src/modules/search/vector-index.ts'

const vector = (...values: number[]) => Float32Array.from(values)

describe('vectors', () => {
  test('the similarity of vectors depends on their direction, not their length', () => {
    const index = createVectorIndex(3)
    index.put('same', vector(2, 0, 0))
    index.put('half', vector(3, 3, 0))
    index.put('other', vector(0, 0, 5))
    index.put('away', vector(-1, 0, 0))
    const scores = index.search(vector(7, 0, 0))
    expect(scores.get('same')).toBeCloseTo(1, 6)
    expect(scores.get('half')).toBeCloseTo(Math.SQRT1_2, 6)
    expect(scores.get('other')).toBe(0)
    expect(scores.get('away')).toBe(0)
  })

  test('zero vectors are similar to nothing', () => {
    const index = createVectorIndex(2)
    index.put('none', vector(0, 0))
    index.put('odd', vector(NaN, 1))
    expect([...index.search(vector(1, 0)).values()]).toEqual([0, 0])
    expect([...index.search(vector(0, 0)).values()]).toEqual([0, 0])
  })

  test('a vector replaces the previous one with the same id', () => {
    const index = createVectorIndex(2)
    index.put('a', vector(1, 0))
    index.put('a', vector(0, 1))
    expect(index.size).toBe(1)
    expect(index.search(vector(0, 1)).get('a')).toBe(1)
  })

  test('a vector of another dimension is rejected', () => {
    const index = createVectorIndex(2)
    expect(() => index.put('a', vector(1, 0, 0))).toThrow(RangeError)
    expect(() => index.search(vector(1))).toThrow(RangeError)
    expect(index.size).toBe(0)
  })

  test('removing a missing vector is allowed', () => {
    const index = createVectorIndex(2)
    index.remove('a')
    expect(index.size).toBe(0)
    expect(index.search(vector(1, 0))).toEqual(new Map())
  })

  test('vectors keep their ids after any number of changes', () => {
    const step = fc.record({ id: fc.nat(90), put: fc.option(fc.double({ min: 0.1, max: 1.5, noNaN: true })) })
    fc.assert(
      fc.property(fc.array(step, { maxLength: 300 }), (steps) => {
        const index = createVectorIndex(2)
        const angles = new Map<string, number>()
        for (const { id, put } of steps) {
          if (put === null) index.remove(`v${id}`)
          else index.put(`v${id}`, vector(Math.cos(put), Math.sin(put)))
          if (put === null) angles.delete(`v${id}`)
          else angles.set(`v${id}`, put)
        }
        const scores = index.search(vector(1, 0))
        expect([...scores.keys()].sort()).toEqual([...angles.keys()].sort())
        expect(index.size).toBe(angles.size)
        for (const [id, angle] of angles) expect(scores.get(id)).toBeCloseTo(Math.cos(angle), 5)
        for (const { id, vector: one } of index.entries())
          expect(one[0]).toBeCloseTo(Math.cos(Number(angles.get(id))), 5)
      }),
    )
  })
})
