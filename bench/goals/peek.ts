/** Goal 12: the time until a reconnecting daemon has the waiting signals of its persona. */
import { figure, median, short, type Figure } from '../report/figures.ts'
import type { LinkHandlers, Peeked } from '../programs/links.ts'
import { warmUp } from '../load.ts'
import { addPersonas, agentToken, operatorToken, startHub } from '../hubs.ts'
import { startRemote } from '../remote.ts'
import type { SenderHandlers } from '../programs/sender.ts'

const ROUNDS = 7
const PENDING = 10_000
const PEEKS = 40
const WARM_UP_PEEKS = 300
const SENDERS = 20
const FILL_MS_MAX = 30_000
const PERSONA = 'returning'

export async function peek(): Promise<Figure[]> {
  const sender = await startRemote<SenderHandlers>('sender')
  const daemon = await startRemote<LinkHandlers>('links')
  const hub = await startHub('durable')
  try {
    await warmUp(sender.call, hub)
    await addPersonas(hub, [PERSONA])
    const senders = await Promise.all(
      Array.from({ length: SENDERS }, async (_, at) => {
        const identity = `filler-${at}`
        return { identity, token: await agentToken(hub, identity) }
      }),
    )
    const filling = await sender.call.connect({ url: hub.url, senders, to: [PERSONA] })
    await sender.call.run({ ...filling, sends: PENDING, ms: FILL_MS_MAX })

    const token = operatorToken(hub)
    const link = await daemon.call.connect({ url: hub.url, token, identities: [PERSONA] })
    await daemon.call.peek({ ...link, times: WARM_UP_PEEKS })
    const pairs: { value: number; limit: number; peeked: Peeked }[] = []
    while (pairs.length < ROUNDS) {
      const peeked = await daemon.call.peek({ ...link, times: PEEKS })
      const [first] = peeked
      if (first?.total !== PENDING) throw new Error(`${first?.total} signals wait, not ${PENDING}`)
      pairs.push({
        value: median(peeked.map(({ peek_us }) => peek_us)),
        limit: median(peeked.map(({ json_us }) => json_us)),
        peeked: first,
      })
    }
    return [
      figure(
        'peek',
        'us',
        '12: <= 3',
        pairs,
        ({ peeked }) => [
          `p50 of ${PEEKS} times from asking what waits, over the link of a daemon with ${PENDING} pending, to the answer parsed: the first ${peeked.signals} and the total, ${short(peeked.bytes / 1024)} KiB`,
          'limit: JSON.stringify and JSON.parse of the same answer, measured after each',
        ],
        'rounds',
      ),
    ]
  } finally {
    await Promise.all([sender.stop(), daemon.stop(), hub.stop()])
  }
}
