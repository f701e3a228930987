/** One sum over many lines says the same as each line's own checksum. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { lineHolds, NEWLINE, sealLine, SEAL_BYTES } from '../../src/storage/file/line.ts'
import { LineSums } from '../../src/storage/file/line-sums.ts'

const line = fc.oneof(
  { weight: 8, arbitrary: fc.uint8Array({ minLength: 1, maxLength: 200 }) },
  // As long as it takes moves of each level.
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
    if (!lineHolds(buffer, start, end)) return false
    start = end + 1
  }
  return true
}

describe('the sum of many lines', () => {
  const sums = new LineSums()

  test('holds where each line does, and tells where they end', () => {
    fc.assert(
      fc.property(lines, fc.nat({ max: 50 }), (bodies, behind) => {
        const chunk = sealed(bodies)
        const buffer = Buffer.concat([chunk, Buffer.alloc(behind, 'x')])
        expect(sums.hold(buffer, chunk.length)).toBe(bodies.length)
        let end = -1
        const ends = bodies.map((body) => (end += body.length + SEAL_BYTES))
        expect([...sums.ends.subarray(0, bodies.length)]).toEqual(ends)
      }),
      { numRuns: 50 },
    )
  })

  test('does not hold where one byte of any line is another one', () => {
    fc.assert(
      fc.property(lines, fc.nat(), fc.integer({ min: 1, max: 255 }), (bodies, pick, by) => {
        const chunk = sealed(bodies)
        // The last newline is where the chunk was cut.
        const at = pick % (chunk.length - 1)
        chunk[at] = (chunk[at] as number) ^ by
        expect(sums.hold(chunk, chunk.length)).toBe(-1)
        expect(eachHolds(chunk)).toBe(false)
      }),
      { numRuns: 50 },
    )
  })

  test('does not hold where two lines have the same damage, or have changed their seals', () => {
    const body = Buffer.from('{"kind":"signal","payload":"twice the same"')
    const chunk = sealed([body, body, Buffer.from('{"kind":"signal","payload":"another"')])
    const length = body.length + SEAL_BYTES
    const both = Buffer.from(chunk)
    for (const at of [5, length + 5]) both[at] = (both[at] as number) ^ 1
    expect(sums.hold(both, both.length)).toBe(-1)
    const seals = [chunk.subarray(length - 12, length), chunk.subarray(chunk.length - 12)].map((seal) =>
      Buffer.from(seal),
    ) as [Buffer, Buffer]
    const swapped = Buffer.from(chunk)
    seals[1].copy(swapped, length - 12)
    seals[0].copy(swapped, chunk.length - 12)
    expect(sums.hold(swapped, swapped.length)).toBe(-1)
  })

  test('does not hold for what is too short to have a seal, or has none', () => {
    for (const text of ['\n', '{}\n', ',"crc":"00000000"}\n', `${'x'.repeat(40)}\n`]) {
      expect(sums.hold(Buffer.from(text), text.length)).toBe(-1)
    }
  })
})
