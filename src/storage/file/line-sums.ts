/**
 * Checks many lines by one checksum. A call of zlib for each line of some hundred bytes costs more than the
 * bytes do, so the checksum of all bytes at once is compared with the one that follows from what the single
 * lines say of themselves. A bad line changes the sum whatever stands around it; several of them could make up
 * for each other once in four billion times, as often as any sum of 32 bits holds by chance.
 *
 * A CRC is linear: the sum of A and then B is A's, moved on by as many zeros as B has bytes, xor B's. Source:
 * Mark Adler's crc32_combine in zlib.
 */
import { crc32 } from 'node:zlib'
import { digitOf, DIGITS_BEFORE_END, HEX_DIGITS, NEWLINE, SEAL_BYTES, writeSeal } from './line.ts'

const DIGIT_BITS = 4
const DIGITS = 1 << DIGIT_BITS
/** What moving on makes of each value of each four bits of a sum. */
const MOVE_WORDS = HEX_DIGITS * DIGITS
/** There are moves by 0 to 63 bytes, by 0 to 63 times 64 bytes and so on; few of them make any length. */
const LEVEL_BITS = 6
const LEVEL_MOVES = 1 << LEVEL_BITS
const LEVELS = 4
const LINE_BYTES_MAX = 2 ** (LEVEL_BITS * LEVELS) - 1

const digits = Int8Array.from({ length: 256 }, (_, byte) => digitOf(byte))

export class LineSums {
  private readonly moves = moveTables()
  /** What each digit of a seal adds to the sum of its line, seal and newline included. */
  private readonly seals = new Uint32Array(MOVE_WORDS)
  private readonly seal_of_zeros = sealSum(0)
  /** Where each line of the last `hold` ends, its newline left out. */
  ends = new Int32Array(0)

  constructor() {
    for (let place = 0; place < HEX_DIGITS; place += 1) {
      for (let digit = 0; digit < DIGITS; digit += 1) {
        const crc = (digit << (DIGIT_BITS * (HEX_DIGITS - 1 - place))) >>> 0
        this.seals[place * DIGITS + digit] = this.moved(crc, SEAL_BYTES) ^ sealSum(crc) ^ this.seal_of_zeros
      }
    }
  }

  /**
   * How many lines there are in `0..filled`, which ends with a newline; -1 when they do not all hold, and also
   * when this cannot tell.
   */
  hold(buffer: Buffer, filled: number): number {
    if (this.ends.length < filled / SEAL_BYTES) this.ends = new Int32Array(Math.ceil(filled / SEAL_BYTES))
    const { ends, seals, seal_of_zeros } = this
    let count = 0
    let sum = 0
    for (let start = 0; start < filled;) {
      const end = buffer.indexOf(NEWLINE, start)
      const bytes = end + 1 - start
      if (bytes <= SEAL_BYTES || bytes > LINE_BYTES_MAX) return -1
      sum = this.moved(sum, bytes) ^ seal_of_zeros
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

  /** The sum of what has `sum` once so many zeros are behind it, but for what they add by themselves. */
  private moved(sum: number, bytes: number): number {
    const { moves } = this
    for (let level = 0; bytes > 0; level += 1) {
      const move = bytes & (LEVEL_MOVES - 1)
      if (move > 0) sum = apply(moves, (level * LEVEL_MOVES + move) * MOVE_WORDS, sum)
      bytes >>>= LEVEL_BITS
    }
    return sum
  }
}

/** The checksum of a seal alone, which says `crc`. */
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

/** Each from the one before it: the first level's moves by one byte, another's by all of the level below. */
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
