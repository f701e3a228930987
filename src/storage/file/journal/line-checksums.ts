/**
 * Verifies many lines with one checksum. For lines of some hundred bytes a zlib call per line costs more than
 * the bytes, so one checksum of all bytes is compared with the checksum combined from the lines' own seals. A
 * bad line always changes the sum. Several bad lines can cancel out with a probability of 2^-32, the same as for
 * any 32-bit checksum.
 *
 * A CRC is linear: the sum of A followed by B is A's sum shifted by B's length in zero bytes, xor B's sum.
 * Source: Mark Adler's crc32_combine in zlib.
 */
import { crc32 } from 'node:zlib'
import { digitOf, DIGITS_BEFORE_END, HEX_DIGITS, NEWLINE, SEAL_BYTES, writeSeal } from './sealed-line.ts'

const DIGIT_BITS = 4
const DIGITS = 1 << DIGIT_BITS
/** Words of one shift table: the shifted value of each possible digit at each position. */
const MOVE_WORDS = HEX_DIGITS * DIGITS
/** There are tables for shifts by 0 to 63 bytes, by 0 to 63 times 64 bytes and so on; a few of them make any length. */
const LEVEL_BITS = 6
const LEVEL_MOVES = 1 << LEVEL_BITS
const LEVELS = 4
const LINE_BYTES_MAX = 2 ** (LEVEL_BITS * LEVELS) - 1

const digits = Int8Array.from({ length: 256 }, (_, byte) => digitOf(byte))

export class LineChecksums {
  private readonly moves = moveTables()
  /** Contribution of each digit of a seal to the sum of its line, seal and newline included. */
  private readonly seals = new Uint32Array(MOVE_WORDS)
  private readonly seal_of_zeros = sealSum(0)
  /** End of each line of the last `countValid`, newline excluded. */
  ends = new Int32Array(0)

  constructor() {
    for (let place = 0; place < HEX_DIGITS; place += 1) {
      for (let digit = 0; digit < DIGITS; digit += 1) {
        const crc = (digit << (DIGIT_BITS * (HEX_DIGITS - 1 - place))) >>> 0
        this.seals[place * DIGITS + digit] = this.shift(crc, SEAL_BYTES) ^ sealSum(crc) ^ this.seal_of_zeros
      }
    }
  }

  /**
   * Returns the number of lines in `0..filled`, which must end with a newline; -1 if a line is invalid or if
   * this method cannot verify one.
   */
  countValid(buffer: Buffer, filled: number): number {
    if (this.ends.length < filled / SEAL_BYTES) this.ends = new Int32Array(Math.ceil(filled / SEAL_BYTES))
    const { ends, seals, seal_of_zeros } = this
    let count = 0
    let sum = 0
    for (let start = 0; start < filled;) {
      const end = buffer.indexOf(NEWLINE, start)
      const bytes = end + 1 - start
      if (bytes <= SEAL_BYTES || bytes > LINE_BYTES_MAX) return -1
      sum = this.shift(sum, bytes) ^ seal_of_zeros
      let all = 0
      for (let place = 0; place < HEX_DIGITS; place += 1) {
        const digit = digits[buffer[end - DIGITS_BEFORE_END + place] as number] as number
        sum ^= seals[place * DIGITS + (digit & (DIGITS - 1))] as number
        all |= digit
      }
      if (all < 0) return -1
      ends[count] = end
      count += 1
      start = end + 1
    }
    return sum >>> 0 === crc32(buffer.subarray(0, filled)) ? count : -1
  }

  /** Shifts the sum by this many zero bytes, without the constant that the zeros themselves add. */
  private shift(sum: number, bytes: number): number {
    const { moves } = this
    for (let level = 0; bytes > 0; level += 1) {
      const move = bytes & (LEVEL_MOVES - 1)
      if (move > 0) sum = apply(moves, (level * LEVEL_MOVES + move) * MOVE_WORDS, sum)
      bytes >>>= LEVEL_BITS
    }
    return sum
  }
}

/** Returns the checksum of the seal that contains `crc`. */
function sealSum(crc: number): number {
  const seal = Buffer.alloc(SEAL_BYTES)
  writeSeal(seal, 0, crc)
  return crc32(seal)
}

function apply(moves: Uint32Array, at: number, sum: number): number {
  return (
    (moves[at + (sum & 15)] as number) ^
    (moves[at + 16 + ((sum >>> 4) & 15)] as number) ^
    (moves[at + 32 + ((sum >>> 8) & 15)] as number) ^
    (moves[at + 48 + ((sum >>> 12) & 15)] as number) ^
    (moves[at + 64 + ((sum >>> 16) & 15)] as number) ^
    (moves[at + 80 + ((sum >>> 20) & 15)] as number) ^
    (moves[at + 96 + ((sum >>> 24) & 15)] as number) ^
    (moves[at + 112 + (sum >>> 28)] as number)
  )
}

/** Builds each shift table from the previous one; a level's unit is one step above the largest shift of the level below. */
function moveTables(): Uint32Array {
  const moves = new Uint32Array(LEVELS * LEVEL_MOVES * MOVE_WORDS)
  const zero = Buffer.alloc(1)
  const zero_sum = crc32(zero)
  const byOneByte = (sum: number) => crc32(zero, sum) ^ zero_sum
  for (let level = 0; level < LEVELS; level += 1) {
    const first = level * LEVEL_MOVES * MOVE_WORDS
    const below = first - MOVE_WORDS
    const onlyOne = (sum: number) =>
      level === 0
        ? byOneByte(sum)
        : apply(moves, below - (LEVEL_MOVES - 2) * MOVE_WORDS, apply(moves, below, sum))
    for (let word = 0; word < MOVE_WORDS; word += 1) {
      const bits = ((word % DIGITS) << (DIGIT_BITS * Math.floor(word / DIGITS))) >>> 0
      moves[first + word] = bits
      moves[first + MOVE_WORDS + word] = onlyOne(bits)
    }
    for (let move = 2; move < LEVEL_MOVES; move += 1) {
      for (let word = 0; word < MOVE_WORDS; word += 1) {
        const at = first + move * MOVE_WORDS + word
        moves[at] = apply(moves, first + MOVE_WORDS, moves[at - MOVE_WORDS] as number)
      }
    }
  }
  return moves
}
