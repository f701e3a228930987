/** Goal 1: one sender with one durable send after another. */
import { figure, interleave, short, type Figure } from '../report/figures.ts'
import { rawAppend } from '../limits.ts'
import { busy, startLoad, type Sent } from '../load.ts'

const ROUNDS = 7
const SEND_MS = 600
const RAW_MS = 300

interface Round {
  durable: Sent
  syncOff: Sent
  blocking: Sent
  raw_us: number
}

export async function sendOne(): Promise<Figure[]> {
  const load = await startLoad(1)
  try {
    const blocking = await load.beside('blocking sync')
    const rounds = await interleave<Round>(ROUNDS, {
      durable: () => load.durable.run(SEND_MS),
      syncOff: () => load.syncOff.run(SEND_MS),
      blocking: () => blocking.run(SEND_MS),
      raw_us: async () => rawAppend(load.durable.hub.home, load.line_bytes, RAW_MS).p50_us,
    })
    const pairs = rounds.map((round) => ({
      ...round,
      value: round.durable.p50_us,
      limit: round.syncOff.p50_us + round.raw_us,
    }))
    const without_hop = rounds.map((round) => ({
      ...round,
      value: round.blocking.p50_us,
      limit: round.durable.p50_us,
    }))
    return [
      figure('send-one', 'us', '1: <= 1.5', pairs, (round) => [
        'p50 of a durable send over WebSocket: one agent in a process of its own, the next send after the receipt',
        `limit: p50 of the same hub with its fdatasync left out (${short(round.syncOff.p50_us)} us) + p50 of a raw writeSync + fdatasyncSync of the same ${load.line_bytes} bytes (${short(round.raw_us)} us)`,
        busy(round.durable),
      ]),
      figure('send-one-blocking', 'us', null, without_hop, ({ blocking: sent }) => [
        'p50 of the same send to a hub that stands still while the disk syncs, instead of asking for the sync on another thread',
        `limit: p50 of the hub as it is; ${busy(sent)}`,
      ]),
    ]
  } finally {
    await load.stop()
  }
}
