/**
 * Takes signals from a queue and shows them. The drain stays tentative until stdout has accepted every byte; then it is
 * confirmed. If the reader is gone before that, the signals are released at once.
 */
import { exitCodeOf } from '../contracts/exit-codes.ts'
import { DrainResult } from '../contracts/signal.ts'
import type { Invocation } from './cli.ts'
import type { HubClient } from './hub-client.ts'
import { count, describeSignal } from './render.ts'

export async function takeAndShow(
  invocation: Invocation,
  hub: HubClient,
  limit: number,
  whose: string,
): Promise<DrainResult> {
  const { cli, out } = invocation
  const drained = await hub.ask('signals', 'pending', { limit, peek: false }, DrainResult)
  try {
    await out.result(drained, () => describeQueue(whose, drained, cli.clock.now()))
  } catch (error) {
    await giveBack(hub, drained)
    throw error
  }
  if (drained.drain_id === null) return drained
  try {
    await hub.call('signals', 'pending', { confirm: drained.drain_id, peek: true, limit: 1 })
    const queue = whose === 'you' ? 'your queue' : `the queue of ${whose}`
    out.note(`Taken from ${queue}: ${count(drained.signals.length, 'signal')}.`)
  } catch (error) {
    // stdout has its one document; with --json, too, this is for stderr.
    await cli.output(false).problem(error)
    out.note('The signals above were not confirmed and will come again.')
    cli.exitWith(exitCodeOf(error))
  }
  return drained
}

async function giveBack(hub: HubClient, drained: DrainResult): Promise<void> {
  if (drained.drain_id === null) return
  const signal_ids = drained.signals.map((signal) => signal.signal_id)
  // If this fails as well, the lease ends by itself and they come back then.
  await hub.call('signals', 'release', { signal_ids }).catch(() => {})
}

export function describeQueue(
  whose: string,
  { signals, remaining, expired = [] }: DrainResult,
  now_ms: number,
): string {
  const over = expired.map(
    ({ signal_id, from, intent, expired_at }) =>
      `${signal_id}  ${intent} from ${from} expired at ${expired_at}; \`signals replay\` puts it back`,
  )
  if (signals.length === 0) return [`Nothing waits for ${whose}.`, ...over].join('\n')
  const more = remaining === 0 ? [] : [`${count(remaining, 'more signal waits', 'more signals wait')}.`]
  return [...signals.map((signal) => describeSignal(signal, now_ms)), ...more, ...over].join('\n')
}
