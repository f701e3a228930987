/** `turnbell inbox`: signals that agents sent to the operator, which is the person. */
import type { Command } from 'commander'
import * as z from 'zod'
import { OPERATOR } from '../../contracts/ids.ts'
import { LIMITS } from '../../contracts/limits/limits.ts'
import { DrainedSignal, DrainResult, type Receipt, SignalView } from '../../contracts/signal.ts'
import { type Cli, invocationOf, type Invocation } from '../cli.ts'
import { follow } from '../hub/follow.ts'
import type { HubClient } from '../hub/client.ts'
import { write } from '../output.ts'
import { isAway } from '../hub/reach.ts'
import { count, describeSignal, examples } from '../render.ts'
import { describeQueue, drainLimitOption, drainAndShow } from '../drain.ts'

/** Answer of the action `signals inbox`. */
export const InboxPage = z.object({ signals: z.array(SignalView), next: z.number().int().nullable() })
export type InboxPage = z.infer<typeof InboxPage>

interface Options {
  follow?: boolean
  take?: boolean
  limit: number
}

export function registerInbox(program: Command, cli: Cli): void {
  const command = program
    .command('inbox')
    .description('list signals that agents sent to you (operator); --take drains them')
    .option('-f, --follow', 'keep printing new signals until Ctrl-C')
    .option('--take', 'drain the printed signals')
    .addOption(drainLimitOption())
    .addHelpText(
      'after',
      examples([
        ['turnbell inbox', 'your pending signals'],
        ['turnbell inbox -f --take', 'print and drain each new signal'],
        ['turnbell send --to ada --wait "Is main green?"', 'send a question and wait for the answer'],
      ]),
    )
  command.action(async ({ follow: follows = false, take = false, limit }: Options) => {
    const invocation = invocationOf(cli, command)
    if (follows) return followInbox(invocation, take, limit)
    if (take) return void (await drainAndShow(invocation, invocation.hub(), limit, 'you'))
    const waiting = await invocation.hub().ask('signals', 'pending', { limit, peek: true }, DrainResult)
    await invocation.out.result(waiting, () => describeQueue('you', waiting, cli.clock.now()))
  })
}

async function followInbox(invocation: Invocation, take: boolean, limit: number): Promise<void> {
  const { cli, json } = invocation
  const show = async (signals: readonly DrainedSignal[]) => {
    for (const signal of signals) {
      const text = json ? JSON.stringify(signal) : describeSignal(signal, cli.clock.now())
      await write(cli.stdout, `${text}\n`)
    }
  }
  const look = take ? takeMore(invocation, limit, show) : printMore(invocation, show)
  await follow(invocation, look)
}

type Show = (signals: readonly DrainedSignal[]) => Promise<void>

function takeMore({ hub: findHub }: Invocation, limit: number, show: Show): () => Promise<void> {
  // Unconfirmed signals are delivered again, and are printed only once by this process.
  const unconfirmed = new Set<string>()
  return async () => {
    const hub = findHub()
    const { signals, drain_id } = await hub.ask('signals', 'pending', { limit, peek: false }, DrainResult)
    await show(signals.filter(({ signal_id }) => !unconfirmed.has(signal_id)))
    if (drain_id === null) return
    for (const { signal_id } of signals) unconfirmed.add(signal_id)
    try {
      await hub.call('signals', 'pending', { confirm: drain_id, peek: true, limit: 1 })
      for (const { signal_id } of signals) unconfirmed.delete(signal_id)
    } catch (error) {
      if (!isAway(error)) throw error
    }
  }
}

/** The first poll prints what `inbox` prints, at most one page. Later polls print what arrived after it. */
function printMore({ hub: findHub, out }: Invocation, show: Show): () => Promise<void> {
  let last_seq: number | null = null
  let waiting = new Set<string>()
  return async () => {
    const hub = findHub()
    if (last_seq === null) {
      const [newest] = (await pageOfInbox(hub, { limit: 1 })).signals
      const peek = { limit: LIMITS.drain_limit_max, peek: true }
      const { signals, remaining } = await hub.ask('signals', 'pending', peek, DrainResult)
      last_seq = newest?.seq ?? 0
      // Otherwise signals that arrived between the two requests would be printed twice.
      waiting = new Set(signals.map(({ signal_id }) => signal_id))
      await show(signals)
      if (remaining > 0) out.note(`${count(remaining, 'more signal waits', 'more signals wait')}.`)
      return
    }
    const arrived: SignalView[] = []
    for await (const view of waitingSince(hub, last_seq)) arrived.push(view)
    arrived.reverse()
    last_seq = arrived.at(-1)?.seq ?? last_seq
    await show(arrived.filter(({ signal_id }) => !waiting.has(signal_id)).map(asDrained))
  }
}

const asDrained = (view: SignalView): DrainedSignal =>
  DrainedSignal.parse({ ...view, created_at: view.stages.created_at })

/** Returns the pending signals to the operator that were sent after `seq`, newest first. A peek would return the oldest. */
async function* waitingSince(hub: HubClient, seq: number): AsyncGenerator<SignalView> {
  let before_seq: number | null = null
  do {
    const place: { before_seq?: number } = before_seq === null ? {} : { before_seq }
    const page: InboxPage = await pageOfInbox(hub, { limit: LIMITS.drain_limit_default, ...place })
    for (const view of page.signals) {
      if (view.seq <= seq) return
      yield view
    }
    before_seq = page.next
  } while (before_seq !== null)
}

function pageOfInbox(hub: HubClient, place: { limit: number; before_seq?: number }): Promise<InboxPage> {
  return hub.ask('signals', 'inbox', { to: OPERATOR, status: ['pending'], ...place }, InboxPage)
}

/** Removes the answer to a signal of the operator from the inbox, after it was printed elsewhere. */
export async function takeReply(
  invocation: Invocation,
  { signal_id, seq }: Pick<Receipt, 'signal_id' | 'seq'>,
): Promise<void> {
  const hub = invocation.hub()
  const replies: string[] = []
  for await (const view of waitingSince(hub, seq))
    if (view.in_reply_to === signal_id) replies.push(view.signal_id)
  if (replies.length === 0) return
  await hub.call('signals', 'ack', { signal_ids: replies })
}
