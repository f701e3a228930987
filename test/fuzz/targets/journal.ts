/** Segments of a journal: damaged ones, and whole lines that say something odd. */
import { TurnbellError } from '../../../src/contracts/errors.ts'
import { lineHolds } from '../../../src/storage/file/line.ts'
import { openFileSignalStore } from '../../../src/storage/file/signal-store.ts'
import { fakeClock } from '../../support/fake-clock.ts'
import { MemoryDisk } from '../../support/memory-disk.ts'
import { signalMaker } from '../../support/signals.ts'
import { stateOf } from '../../support/store-state.ts'
import { sealed, unsealed } from '../seals.ts'
import { insist, type Target } from '../target.ts'

const HOME = '/hub'
const SEGMENT = '/hub/journal/0000000001.jsonl'
const SNAPSHOT = '/hub/snapshot/index.bin'
const NEWLINE = 10
const DAMAGED = /(?:\/hub\/journal\/0000000001\.jsonl|segment 1) at byte (\d+):/

const clock = fakeClock()

/** A journal with every kind of line, of which half has a clean end, and the snapshot that its close left. */
async function home(closed: boolean): Promise<MemoryDisk> {
  const disk = new MemoryDisk()
  const make = signalMaker(clock)
  const store = await openFileSignalStore({ directory: HOME, clock, disk })
  const signals = Array.from({ length: 6 }, (_, at) =>
    make.signal({
      payload: { at },
      priority: at % 3,
      ...(at === 1 ? { idempotency_key: 'k', to_session: 's' } : {}),
    }),
  )
  for (const signal of signals.slice(0, 4)) await store.append(signal)
  await store.appendAll(signals.slice(4))
  const lease = make.lease()
  await store.drain('bob', { ...lease, limit: 2, now: make.at() })
  await store.confirm(lease.drain_id, make.at())
  const second = make.lease()
  await store.drain('bob', { ...second, limit: 2, now: make.at() })
  await store.release(second.drain_id)
  await store.complete('bob', [signals[0]?.signal_id ?? ''], { done: true }, make.at())
  await store.expire(make.at())
  if (closed) await store.close()
  return disk.afterKill()
}

const open = (disk: MemoryDisk) => openFileSignalStore({ directory: HOME, clock, disk })

/** The state after opening, or the place at which it was refused. */
async function opened(disk: MemoryDisk): Promise<{ state: string } | { refused_at: number }> {
  try {
    const store = await open(disk)
    const state = JSON.stringify(await stateOf(store))
    await store.close()
    return { state }
  } catch (error) {
    if (!(error instanceof TurnbellError) || error.code !== 'store_damaged') throw error
    const at = DAMAGED.exec(error.detail)?.[1]
    insist(at !== undefined, () => `the refusal does not say where: ${error.detail}`)
    return { refused_at: Number(at) }
  }
}

const diskWith = (bytes: Uint8Array) => {
  const disk = new MemoryDisk()
  disk.put(SEGMENT, bytes)
  return disk
}

/** Where the first line begins that does not match its checksum. */
function wholeUpTo(bytes: Buffer): number {
  for (let start = 0; ;) {
    const end = bytes.indexOf(NEWLINE, start)
    if (end === -1 || !lineHolds(bytes, start, end)) return start
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

export const snapshot: Target = {
  name: 'snapshot',
  promise: 'with a damaged snapshot the state is the one that the journal gives',
  share: 0.5,
  bytes_max: 4_194_304,

  async open() {
    const disk = await home(true)
    const [journal, good] = [disk.content(SEGMENT), disk.content(SNAPSHOT)]
    const bare = diskWith(journal)
    const expected = await opened(bare)
    return {
      seeds: [good],
      async attempt(input) {
        const made = disk.afterKill()
        const whole = made.files.get(SNAPSHOT)
        if (whole !== undefined) made.files.set(SNAPSHOT, { ...whole, bytes: Buffer.from(input) })
        const found = await opened(made)
        insist(
          'state' in found && 'state' in expected && found.state === expected.state,
          () => `another state: ${JSON.stringify(found).slice(0, 300)}`,
        )
        return input.equals(good) ? 'good' : 'bad'
      },
    }
  },
}
