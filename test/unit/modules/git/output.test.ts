/** Tests the size limits of answers. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { LIMITS } from '../../../../src/contracts/limits/limits.ts'
import { cut, fieldsOf, textOf, within } from '../../../../src/modules/git/output.ts'

describe('an answer', () => {
  test('an answer contains the requested number of items', () => {
    expect(within([1, 2, 3], 3)).toEqual({ kept: [1, 2, 3], truncated: false })
    expect(within([1, 2, 3], 2)).toEqual({ kept: [1, 2], truncated: true })
    expect(within([], 0)).toEqual({ kept: [], truncated: false })
  })

  test('an answer never exceeds a frame', () => {
    const items = fc.array(fc.string({ maxLength: 5_000 }), { maxLength: 100 })
    fc.assert(
      fc.property(items, fc.nat(100), (texts, count) => {
        const { kept, truncated } = within(texts, count)
        expect(Buffer.byteLength(JSON.stringify(kept))).toBeLessThanOrEqual(LIMITS.git_list_bytes_max + 1)
        expect(kept).toEqual(texts.slice(0, kept.length))
        expect(truncated).toBe(kept.length < texts.length)
      }),
    )
    expect(LIMITS.git_list_bytes_max).toBeLessThan(LIMITS.frame_bytes_max)
  })
})

describe('a text', () => {
  test('a text is cut between characters', () => {
    expect(cut('abc', 3)).toEqual({ text: 'abc', cut: false })
    expect(cut('abcd', 3)).toEqual({ text: 'abc', cut: true })
    expect(cut('ab😀', 3)).toEqual({ text: 'ab', cut: true })
    expect(cut('ab😀', 4)).toEqual({ text: 'ab😀', cut: false })
  })

  test("invalid bytes in git's output are replaced by U+FFFD", () => {
    expect(textOf(Buffer.from([0xef, 0xbb, 0xbf, 0x41]))).toBe('\ufeffA')
    expect(fieldsOf({ stdout: Buffer.from([0xe9, 0, 0xc3, 0, 0x41, 0, 0x42]) })).toEqual([
      '\ufffd',
      '\ufffd',
      'A',
    ])
    expect(fieldsOf({ stdout: Buffer.from([]) })).toEqual([])
  })
})
