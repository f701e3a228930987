/**
 * Checks expiry notices: the sender and `reply_to` of an expired signal are each notified once per life of the signal.
 */
import type { DrainResult, SignalView } from '../../../src/contracts/signal.ts'
import type { SignalStore } from '../../../src/ports/signal-store.ts'
import { Violation } from '../../support/violation.ts'
import type { Ledger } from './ledger.ts'

type Shown = DrainResult['signals'][number] | SignalView

interface Named {
  signal_id: string
  expired_at: string
}

/** Returns the payload of a notice: it names some of the signals and counts all of them. */
const namedIn = ({ payload }: Shown) => payload as unknown as { signals: Named[]; total: number }

/** Returns whether the hub itself sent the signal. */
export const isNotice = ({ origin, from }: Shown): boolean => origin === 'system' && from === 'turnbell'

/** Checks one notice, as received by an agent or as found in the store. */
export function checkNotice(ledger: Ledger, notice: Shown): void {
  const { signal_id, intent, priority, to } = notice
  if (intent !== 'expired' || priority !== 0)
    throw new Violation('a notice rings nobody', `${signal_id}: ${intent}, priority ${priority}`)
  for (const named of namedIn(notice).signals) {
    if (ledger.notices.has(named.signal_id))
      throw new Violation('there is no notice about a notice', `${signal_id} about ${named.signal_id}`)
    const known = ledger.signals.get(named.signal_id)
    if (known !== undefined && !known.ever_expired && !known.unsure && known.replays_open === 0)
      throw new Violation('a notice names what expired', `${signal_id} about ${named.signal_id}`)
    const life = `${to} ${named.signal_id} ${named.expired_at}`
    const first = ledger.told_expiries.get(life)
    if (first !== undefined && first !== signal_id)
      throw new Violation('an expiry is told once', `${life}: ${first} and ${signal_id}`)
    ledger.told_expiries.set(life, signal_id)
  }
}

/** Checks, after a hub has started, that each expired signal was reported to the persona or person that sent it. */
export async function checkNotices(
  ledger: Ledger,
  store: SignalStore,
  isAddressee: (identity: string, since: number) => boolean,
): Promise<void> {
  const { signals: system } = await store.query({ from: 'turnbell', limit: Number.MAX_SAFE_INTEGER })
  for (const { signal_id } of system) ledger.notices.add(signal_id)
  for (const notice of system) checkNotice(ledger, notice)
  if (system.some((notice) => namedIn(notice).total > namedIn(notice).signals.length)) return
  const { signals: expired } = await store.query({ status: ['expired'], limit: Number.MAX_SAFE_INTEGER })
  for (const { signal_id, from, reply_to = from, origin, to, expires_at } of expired) {
    const wish = ledger.signals.get(signal_id)?.wish
    if (origin === 'system' || wish === undefined || wish === null) continue
    // After a clock change a notice may be forgotten before its signal.
    if (ledger.wall.errorSince(wish.at) > 0) continue
    for (const concerned of new Set([from, reply_to])) {
      if (concerned === to || !isAddressee(concerned, wish.at)) continue
      if (!ledger.told_expiries.has(`${concerned} ${signal_id} ${expires_at}`))
        throw new Violation('an expiry is told to the sender and reply_to', `${signal_id} to ${concerned}`)
    }
  }
}
