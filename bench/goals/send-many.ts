/** Goal 2: a hundred concurrent senders, and the cost of durability for them. */
import { figure, interleave, short, type Figure } from '../report/figures.ts'
import { busy, startLoad, type Sent } from '../load.ts'

const ROUNDS = 7
const SENDERS = 100
const SEND_MS = 1_000

interface Round {
  durable: Sent
  syncOff: Sent
}

export async function sendMany(): Promise<Figure[]> {
  const load = await startLoad(SENDERS)
  try {
    const rounds = await interleave<Round>(ROUNDS, {
      durable: () => load.durable.run(SEND_MS),
      syncOff: () => load.syncOff.run(SEND_MS),
    })
    const pairs = rounds.map((round) => ({
      ...round,
      value: round.durable.sends_per_s,
      limit: round.syncOff.sends_per_s,
    }))
    return [
      figure('send-many', 'sends/s', '2: >= 0.75', pairs, ({ durable, syncOff }) => [
        `durable sends over ${SENDERS} WebSocket links held by one sender process, each with one send under way; p50 ${short(durable.p50_us / 1000)} ms, p99 ${short(durable.p99_us / 1000)} ms`,
        'limit: the same hub with its fdatasync left out',
        `durable: ${busy(durable)}; sync off: ${busy(syncOff)}`,
      ]),
    ]
  } finally {
    await load.stop()
  }
}
