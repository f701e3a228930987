/** Fuzzes the segments of a journal: damaged lines, and complete lines with unusual contents. */
import { isValidLine } from '../../../../src/storage/file/journal/sealed-line.ts'
import { sealed, unsealed } from '../../seals.ts'
import { diskWith, home, opened, SEGMENT } from '../../peers/signal-home.ts'
import { insist, type Target } from '../../target.ts'

const NEWLINE = 10

/** Returns the offset of the first line that does not match its checksum. */
function wholeUpTo(bytes: Buffer): number {
  for (let start = 0; ;) {
    const end = bytes.indexOf(NEWLINE, start)
    if (end === -1 || !isValidLine(bytes, start, end)) return start
    start = end + 1
  }
}

export const journalDamage: Target = {
  name: 'journal-damage',
  promise:
    'a damaged journal opens with every whole line before the damage, or is refused with its file and place',
  share: 2,
  bytes_max: 32_768,

  async open() {
    const seeds = [(await home(false)).content(SEGMENT), (await home(true)).content(SEGMENT), Buffer.alloc(0)]
    return {
      seeds,
      async attempt(input) {
        const whole = wholeUpTo(input)
        const disk = diskWith(input)
        const found = await opened(disk)
        if ('refused_at' in found) {
          insist(
            found.refused_at <= whole,
            () => `refused at ${found.refused_at}, but it is whole up to ${whole}`,
          )
          insist(disk.content(SEGMENT).equals(input), () => 'a refused journal was changed')
          insist(!seeds.some((seed) => seed.equals(input)), () => 'a sound journal was refused')
          return 'refused'
        }
        const before = await opened(diskWith(input.subarray(0, whole)))
        insist(
          'state' in before && before.state === found.state,
          () =>
            `another state than that of the ${whole} whole bytes: ${JSON.stringify(before).slice(0, 300)} ${found.state.slice(0, 300)}`,
        )
        if (whole === input.length) return 'whole'
        const again = await opened(disk)
        insist('state' in again && again.state === found.state, () => 'another state when it is opened again')
        return 'cut'
      },
    }
  },
}

export const journalLines: Target = {
  name: 'journal-lines',
  promise:
    'whatever whole lines a journal holds, it opens with a state that can be read, or is refused with the place',
  share: 2,
  words: [
    '"kind":"signal"',
    '"kind":"lease"',
    '"kind":"release"',
    '"kind":"forget"',
    '"payload":',
    '"left":',
    '"seq":',
  ],

  async open() {
    const bare = unsealed((await home(false)).content(SEGMENT))
    const [head = '', ...lines] = bare.trimEnd().split('\n')
    return {
      seeds: [lines.join('\n'), ...lines],
      async attempt(input) {
        const said = [head, ...input.toString().split('\n')].map((line) =>
          sealed(Buffer.from(line.replace(/\}$/, ''))),
        )
        const disk = diskWith(Buffer.concat(said))
        const found = await opened(disk)
        if ('refused_at' in found) return 'refused'
        const again = await opened(disk)
        insist('state' in again && again.state === found.state, () => 'another state when it is opened again')
        return 'opened'
      },
    }
  },
}
