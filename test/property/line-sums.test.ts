/** The combined checksum of many lines gives the same result as the checksum of each line. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { isValidLine, NEWLINE, sealLine, SEAL_BYTES } from '../../src/storage/file/journal/sealed-line.ts'
import { LineChecksums } from '../../src/storage/file/journal/line-checksums.ts'

const line = fc.oneof(
  { weight: 8, arbitrary: fc.uint8Array({ minLength: 1, maxLength: 200 }) },
  // Long enough to move data at each level.
  fc
    .record({ byte: fc.nat({ max: 255 }), length: fc.integer({ min: 1, max: 600_000 }) })
    .map(({ byte, length }) => new Uint8Array(length).fill(byte)),
)
const lines = fc.array(
  line.map((bytes) => bytes.map((byte) => (byte === NEWLINE ? 0 : byte))),
  { minLength: 1, maxLength: 12 },
)

function sealed(bodies: readonly Uint8Array[]): Buffer {
  return Buffer.concat(
    bodies.map((body) => {
      const buffer = Buffer.alloc(body.length + SEAL_BYTES)
      buffer.set(body)
      sealLine(buffer, 0, body.length)
      return buffer
    }),
  )
}

function eachHolds(buffer: Buffer): boolean {
  for (let start = 0; start < buffer.length;) {
    const end = buffer.indexOf(NEWLINE, start)
    if (!isValidLine(buffer, start, end)) return false
    start = end + 1
  }
  return true
}

describe('the sum of many lines', () => {
  const sums = new LineChecksums()

  test('the sum of many lines is valid if each line is, and returns their ends', () => {
    fc.assert(
      fc.property(lines, fc.nat({ max: 50 }), (bodies, behind) => {
        const chunk = sealed(bodies)
        const buffer = Buffer.concat([chunk, Buffer.alloc(behind, 'x')])
        expect(sums.countValid(buffer, chunk.length)).toBe(bodies.length)
        let end = -1
        const ends = bodies.map((body) => (end += body.length + SEAL_BYTES))
        expect([...sums.ends.subarray(0, bodies.length)]).toEqual(ends)
      }),
      { numRuns: 50 },
    )
  })

  test('the sum of many lines is invalid if one byte of any line differs', () => {
    fc.assert(
      fc.property(lines, fc.nat(), fc.integer({ min: 1, max: 255 }), (bodies, pick, by) => {
        const chunk = sealed(bodies)
        // The chunk was cut at the last newline.
        const at = pick % (chunk.length - 1)
        chunk[at] = (chunk[at] as number) ^ by
        expect(sums.countValid(chunk, chunk.length)).toBe(-1)
        expect(eachHolds(chunk)).toBe(false)
      }),
      { numRuns: 50 },
    )
  })

  test('the sum of many lines is invalid if two lines have the same damage or exchanged checksums', () => {
    const body = Buffer.from('{"kind":"signal","payload":"twice the same"')
    const chunk = sealed([body, body, Buffer.from('{"kind":"signal","payload":"another"')])
    const length = body.length + SEAL_BYTES
    const both = Buffer.from(chunk)
    for (const at of [5, length + 5]) both[at] = (both[at] as number) ^ 1
    expect(sums.countValid(both, both.length)).toBe(-1)
    const seals = [chunk.subarray(length - 12, length), chunk.subarray(chunk.length - 12)].map((seal) =>
      Buffer.from(seal),
    ) as [Buffer, Buffer]
    const swapped = Buffer.from(chunk)
    seals[1].copy(swapped, length - 12)
    seals[0].copy(swapped, chunk.length - 12)
    expect(sums.countValid(swapped, swapped.length)).toBe(-1)
  })

  test('the sum of many lines is invalid for a text without a checksum', () => {
    for (const text of ['\n', '{}\n', ',"crc":"00000000"}\n', `${'x'.repeat(40)}\n`]) {
      expect(sums.countValid(Buffer.from(text), text.length)).toBe(-1)
    }
  })
})
