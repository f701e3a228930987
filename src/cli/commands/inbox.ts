/** `turnbell inbox`: what agents sent to the person, the addressee `operator`. */
import type { Command } from 'commander'
import { OPERATOR } from '../../contracts/ids.ts'
import { LIMITS } from '../../contracts/limits.ts'
import { type DrainedSignal, DrainResult } from '../../contracts/signal.ts'
import { type Cli, invocationOf, type Invocation, parseWhole } from '../cli.ts'
import { follow } from '../follow.ts'
import { write } from '../output.ts'
import { isAway } from '../reach-hub.ts'
import { describeSignal, examples } from '../render.ts'
import { describeQueue, takeAndShow } from '../take.ts'

interface Options {
  follow?: boolean
  take?: boolean
  limit: number
}

export function registerInbox(program: Command, cli: Cli): void {
  const command = program
    .command('inbox')
    .description('what agents sent to you, the addressee operator; --take empties it')
    .option('-f, --follow', 'wait for more and print each as it comes, until Ctrl-C')
    .option('--take', 'take what is shown out of the inbox')
    .option(
      '--limit <n>',
      `at most this many (${LIMITS.drain_limit_default})`,
      parseWhole(1, LIMITS.drain_limit_max),
      LIMITS.drain_limit_default,
    )
    .addHelpText(
      'after',
      examples([
        ['turnbell inbox', 'what waits for you'],
        ['turnbell inbox -f --take', 'print and take each as it comes'],
        ['turnbell send --to ada --wait "Is main green?"', 'ask, and wait for the answer'],
      ]),
    )
  command.action(async ({ follow: follows = false, take = false, limit }: Options) => {
    const invocation = invocationOf(cli, command)
    if (follows) return followInbox(invocation, take, limit)
    if (take) return void (await takeAndShow(invocation, invocation.hub(), limit, 'you'))
    const waiting = await invocation.hub().ask('signals', 'pending', { limit, peek: true }, DrainResult)
    await invocation.out.result(waiting, () => describeQueue('you', waiting, cli.clock.now()))
  })
}

async function followInbox(invocation: Invocation, take: boolean, limit: number): Promise<void> {
  const { cli, json } = invocation
  const shown = new Set<string>()
  const show = async (signal: DrainedSignal) => {
    const text = json ? JSON.stringify(signal) : describeSignal(signal, cli.clock.now())
    await write(cli.stdout, `${text}\n`)
    shown.add(signal.signal_id)
  }
  await follow(invocation, async () => {
    const hub = invocation.hub()
    const { signals, drain_id } = await hub.ask(
      ...(['signals', 'pending'] as const),
      { limit: take ? limit : LIMITS.drain_limit_max, peek: !take },
      DrainResult,
    )
    for (const signal of signals) if (!shown.has(signal.signal_id)) await show(signal)
    if (drain_id === null) return
    // Unconfirmed they come again, and are not printed twice by this process.
    await hub
      .call('signals', 'pending', { confirm: drain_id, peek: true, limit: 1 })
      .catch((error: unknown) => {
        if (!isAway(error)) throw error
      })
  })
}

/** The answer to one signal of the person leaves the inbox once it was shown elsewhere. */
export async function takeReply(invocation: Invocation, signal_id: string): Promise<void> {
  const hub = invocation.hub()
  const { signals } = await hub.ask(
    'signals',
    'pending',
    { limit: LIMITS.drain_limit_max, peek: true },
    DrainResult,
  )
  const replies = signals.filter(({ to, in_reply_to }) => to === OPERATOR && in_reply_to === signal_id)
  if (replies.length === 0) return
  await hub.call('signals', 'ack', { signal_ids: replies.map((reply) => reply.signal_id) })
}
