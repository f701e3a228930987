/** Goal 7: a disk with slow syncs, and how well a hundred senders share each sync. */
import { figure, interleave, short, type Figure } from '../report/figures.ts'
import { busy, connectLoad, warmUp, type Sent } from '../load.ts'
import { startHub } from '../hubs.ts'
import { startRemote } from '../remote.ts'
import type { SenderHandlers } from '../programs/sender.ts'
import { SLOW_SYNC_MS } from '../slow-sync.ts'

const ROUNDS = 5
const SENDERS = 100
const SEND_MS = 1_000

interface Round {
  one: Sent
  many: Sent
}

export async function slowDisk(): Promise<Figure[]> {
  const sender = await startRemote<SenderHandlers>('sender')
  const hub = await startHub('slow disk')
  try {
    await warmUp(sender.call, hub, SENDERS)
    const one = await connectLoad(sender.call, hub, 1)
    const many = await connectLoad(sender.call, hub, SENDERS)
    const rounds = await interleave<Round>(ROUNDS, {
      one: () => one.run(SEND_MS),
      many: () => many.run(SEND_MS),
    })
    const pairs = rounds.map((round) => ({
      ...round,
      value: round.many.sends_per_s,
      limit: SENDERS * round.one.sends_per_s,
    }))
    return [
      figure('slow-disk', 'sends/s', '7: >= 0.45', pairs, (round) => [
        `sends of ${SENDERS} senders to a hub whose disk calls back ${SLOW_SYNC_MS} ms after each sync was asked for; p50 ${short(round.many.p50_us / 1000)} ms`,
        `limit: ${SENDERS} times what one sender alone reached beside it, ${short(round.one.p50_us / 1000)} ms a send`,
        busy(round.many),
      ]),
    ]
  } finally {
    await Promise.all([sender.stop(), hub.stop()])
  }
}
