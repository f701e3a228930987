/** Goal 5: the journal alone, without hub, sockets or other processes. */
import { figure, interleave, short, type Figure } from './figures.ts'
import type { Appended, JournalHandlers } from './journal-process.ts'
import { temporaryDirectory } from './processes.ts'
import { startRemote } from './remote.ts'

const ROUNDS = 7
const SENDERS = 100
const APPENDS = 40_000

interface Round {
  store: Appended
  raw: Appended
}

export async function journal(): Promise<Figure[]> {
  const { call, stop } = await startRemote<JournalHandlers>('journal-process')
  const directory = temporaryDirectory()
  const work = { directory, senders: SENDERS, appends: APPENDS }
  try {
    // Two times each: the first compiles what the second runs.
    for (const _ of [1, 2]) await call.raw({ ...work, bytes: (await call.store(work)).line_bytes })
    const { line_bytes: bytes } = await call.store(work)
    const rounds = await interleave<Round>(ROUNDS, {
      store: () => call.store(work),
      raw: () => call.raw({ ...work, bytes }),
    })
    const pairs = rounds.map((round) => ({
      ...round,
      value: round.store.per_s,
      limit: round.raw.per_s,
    }))
    return [
      figure('journal', 'appends/s', '5: >= 0.25', pairs, ({ store, raw }) => [
        `${APPENDS} appends of the file store to a new journal, in process, by ${SENDERS} senders each waiting for its last one to be durable; signals made beforehand; ${short(store.batch_mean)} a sync`,
        `limit: group commit of prepared lines of ${bytes} bytes, one write and one fdatasync for what queued up, ${short(raw.batch_mean)} a sync`,
        'no figure beside SQLite: Node 20 has none of its own and it would be a new dependency',
      ]),
    ]
  } finally {
    await stop()
  }
}
