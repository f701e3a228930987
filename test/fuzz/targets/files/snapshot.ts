/** Fuzzes snapshots of the index: damaged ones, and complete ones of another hub. */
import { crc32 } from 'node:zlib'
import { parseJsonOrNull } from '../../../../src/contracts/validation/json.ts'
import { sealed, unsealed } from '../../seals.ts'
import { home, opened, SEGMENT, SNAPSHOT } from '../../peers/signal-home.ts'
import { insist, type Target } from '../../target.ts'

const NEWLINE = 10

/** Returns a closed hub's disk, and the state from its journal alone. */
async function closedHome() {
  const disk = await home(true)
  /** Returns the number of journal reads during opening, and the state. */
  const openedWith = async (bytes: Buffer) => {
    const made = disk.afterKill()
    const whole = made.files.get(SNAPSHOT)
    if (whole !== undefined) made.files.set(SNAPSHOT, { ...whole, bytes })
    let reads = 0
    made.onRead = (name) => void (reads += name === SEGMENT ? 1 : 0)
    // Reads after opening are for payloads.
    const found = await opened(made, () => (made.onRead = () => {}))
    return { reads, found: JSON.stringify(found) }
  }
  const bare = await openedWith(Buffer.alloc(0))
  return {
    good: disk.content(SNAPSHOT),
    /** Throws unless it opens with the state of the journal. Resolves with whether the snapshot was used. */
    uses: async (bytes: Buffer): Promise<boolean> => {
      const { reads, found } = await openedWith(bytes)
      insist(found === bare.found, () => `another state: ${found.slice(0, 300)}`)
      return reads < bare.reads
    },
  }
}

export const snapshot: Target = {
  name: 'snapshot',
  promise: 'with a damaged snapshot the state is the one that the journal gives',
  share: 0.5,
  bytes_max: 4_194_304,

  async open() {
    const { good, uses } = await closedHome()
    return {
      seeds: [good],
      async attempt(input) {
        const used = await uses(Buffer.from(input))
        const sound = input.equals(good)
        insist(used === sound, () => (sound ? 'a sound one was not used' : 'a damaged one was used'))
        return sound ? 'good' : 'bad'
      },
    }
  },
}

/** Fields that identify a snapshot made by this hub from this journal. */
const MARKS = ['kind', 'format', 'endianness', 'page_rows', 'segments'] as const

export const snapshotMarks: Target = {
  name: 'snapshot-marks',
  promise: 'a whole snapshot of another journal, format or machine is left alone',
  share: 0.5,

  async open() {
    const { good, uses } = await closedHome()
    const head_end = good.indexOf(NEWLINE) + 1
    const body = good.subarray(head_end, good.lastIndexOf('{"kind":"snapshot_end"'))
    const [head = ''] = unsealed(good.subarray(0, head_end)).split('\n')
    const marks = (of: object) =>
      JSON.stringify(
        Object.fromEntries(Object.entries(of).filter(([key]) => MARKS.some((mark) => mark === key))),
      )
    const description = JSON.parse(head) as object
    const made = (change: object) => {
      const first = sealed(Buffer.from(JSON.stringify({ ...description, ...change }).replace(/\}$/, '')))
      const end = JSON.stringify({ kind: 'snapshot_end', body_crc: crc32(body, crc32(first)) })
      return Buffer.concat([first, body, sealed(Buffer.from(end.replace(/\}$/, '')))])
    }
    return {
      seeds: [
        Buffer.from(marks(description)),
        ...['[]', '{"segments":[]}', '{"format":1}'].map((text) => Buffer.from(text)),
      ],
      async attempt(input) {
        const said = parseJsonOrNull(input.toString())
        const change = said === null || typeof said !== 'object' ? {} : (JSON.parse(marks(said)) as object)
        const same = marks({ ...description, ...change }) === marks(description)
        const used = await uses(made(change))
        insist(used || !same, () => 'its own snapshot was not used')
        return used ? 'used' : 'left alone'
      },
    }
  },
}
