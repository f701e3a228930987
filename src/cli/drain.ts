/**
 * Drains signals from a queue and prints them. The drain is confirmed once stdout has accepted every byte. If the reader
 * is gone before that, the signals are released at once.
 */
import { Option } from 'commander'
import { exitCodeOf } from '../contracts/errors/exit-codes.ts'
import { DrainResult } from '../contracts/signal.ts'
import { LIMITS } from '../contracts/limits/limits.ts'
import { parseWhole, type Invocation } from './cli.ts'
import type { HubClient } from './hub/client.ts'
import { count, describeSignal } from './render.ts'

export function drainLimitOption(): Option {
  return new Option('--limit <n>', `at most this many (${LIMITS.drain_limit_default})`)
    .argParser(parseWhole(1, LIMITS.drain_limit_max))
    .default(LIMITS.drain_limit_default)
}

export async function drainAndShow(
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
    await release(hub, drained)
    throw error
  }
  if (drained.drain_id === null) return drained
  try {
    await hub.call('signals', 'pending', { confirm: drained.drain_id, peek: true, limit: 1 })
    const queue = whose === 'you' ? 'your queue' : `the queue of ${whose}`
    out.note(`Taken from ${queue}: ${count(drained.signals.length, 'signal')}.`)
  } catch (error) {
    // stdout has its document already, so the problem is printed to stderr, also with --json.
    await cli.output(false).problem(error)
    out.note('The signals above were not confirmed and will be delivered again.')
    cli.exitWith(exitCodeOf(error))
  }
  return drained
}

async function release(hub: HubClient, drained: DrainResult): Promise<void> {
  if (drained.drain_id === null) return
  const signal_ids = drained.signals.map((signal) => signal.signal_id)
  // If this request fails too, the signals become pending again when the lease expires.
  await hub.call('signals', 'release', { signal_ids }).catch(() => {})
}

export function describeQueue(
  whose: string,
  { signals, remaining, expired = [] }: DrainResult,
  now_ms: number,
): string {
  const notices = expired.map(
    ({ signal_id, from, intent, expired_at }) =>
      `${signal_id}  ${intent} from ${from} expired at ${expired_at}; \`signals replay\` restores it`,
  )
  if (signals.length === 0) return [`Nothing waits for ${whose}.`, ...notices].join('\n')
  const more = remaining === 0 ? [] : [`${count(remaining, 'more signal waits', 'more signals wait')}.`]
  return [...signals.map((signal) => describeSignal(signal, now_ms)), ...more, ...notices].join('\n')
}
