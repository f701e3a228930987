/**
 * `turnbell pending`: drains as the persona's agent.
 *
 * The drain stays tentative until stdout has taken every byte; only then is it confirmed. If the reader
 * is gone by then, the signals are given back at once. Every invocation is a session of its own, so that
 * no later one confirms by accident what this one could not show.
 */
import type { Command } from 'commander'
import { exitCodeOf } from '../../contracts/exit-codes.ts'
import { LIMITS } from '../../contracts/limits.ts'
import { DrainResult } from '../../contracts/signal.ts'
import { type Cli, invocationOf, parseIdentity, parseWhole } from '../cli.ts'
import type { HubClient } from '../hub-client.ts'
import { count, describeSignal, examples } from '../render.ts'

interface Options {
  persona: string
  peek?: boolean
  limit: number
}

export function registerPending(program: Command, cli: Cli): void {
  const command = program
    .command('pending')
    .description("drain as that persona's agent, or only look")
    .requiredOption('--persona <name>', 'whose signals', parseIdentity)
    .option('--peek', 'only look; they keep waiting')
    .option(
      '--limit <n>',
      `at most this many (${LIMITS.drain_limit_default})`,
      parseWhole(1, LIMITS.drain_limit_max),
      LIMITS.drain_limit_default,
    )
    .addHelpText(
      'after',
      examples([
        ['turnbell pending --persona ada --peek', 'what waits for ada'],
        ['turnbell pending --persona ada --json', 'take it, for a program'],
      ]),
    )
  command.action(async ({ persona, peek = false, limit }: Options) => {
    const { out, hub } = invocationOf(cli, command)
    // Asked as the operator first: an agent's own call would make a persona of a mistyped name.
    await hub().call('personas', 'get', { identity: persona })
    const agent = await hub().as(persona, 'agent', `cli:${cli.ids.next()}`)
    const drained = await agent.ask('signals', 'pending', { limit, peek }, DrainResult)
    try {
      await out.result(drained, () => describe(persona, drained, cli.clock.now()))
    } catch (error) {
      await giveBack(agent, drained)
      throw error
    }
    if (drained.drain_id === null) return
    try {
      await agent.call('signals', 'pending', { confirm: drained.drain_id, peek: true, limit: 1 })
    } catch (error) {
      // stdout has its one document; with --json, too, this is for stderr.
      await cli.output(false).problem(error)
      out.note('The signals above were not confirmed and will come again.')
      cli.exitWith(exitCodeOf(error))
    }
  })
}

async function giveBack(agent: HubClient, drained: DrainResult): Promise<void> {
  if (drained.drain_id === null) return
  const signal_ids = drained.signals.map((signal) => signal.signal_id)
  // Should this fail as well, the lease ends by itself and they come back then.
  await agent.call('signals', 'release', { signal_ids }).catch(() => {})
}

function describe(persona: string, { signals, remaining }: DrainResult, now_ms: number): string {
  if (signals.length === 0) return `Nothing waits for ${persona}.`
  const more = remaining === 0 ? [] : [`${count(remaining, 'more signal waits', 'more signals wait')}.`]
  return [...signals.map((signal) => describeSignal(signal, now_ms)), ...more].join('\n')
}
