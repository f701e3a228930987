/** `turnbell pending`: lists a persona's pending signals. Only `--take` drains them, as that persona's agent. */
import type { Command } from 'commander'
import { TurnbellError } from '../../contracts/errors/errors.ts'
import { DrainResult } from '../../contracts/signal.ts'
import { type Cli, invocationOf, parseIdentity } from '../cli.ts'
import { examples } from '../render.ts'
import { describeQueue, drainLimitOption, drainAndShow } from '../drain.ts'

interface Options {
  persona: string
  take?: boolean
  peek?: boolean
  limit: number
}

export function registerPending(program: Command, cli: Cli): void {
  const command = program
    .command('pending')
    .description("list a persona's pending signals; --take drains them")
    .requiredOption('--persona <name>', 'the persona', parseIdentity)
    .option('--take', "drain as that persona's agent, so that the agent itself does not receive them")
    .option('--peek', 'only list; the default, and kept for older scripts')
    .addOption(drainLimitOption())
    .addHelpText(
      'after',
      examples([
        ['turnbell pending --persona ada', 'the pending signals of ada'],
        ['turnbell pending --persona ada --take --json', 'drains them, for programs'],
      ]),
    )
  command.action(async ({ persona, take = false, peek = false, limit }: Options) => {
    if (take && peek) {
      throw new TurnbellError('usage_invalid', {
        detail: '--take and --peek exclude each other.',
        hint: 'Use one of them.',
      })
    }
    const invocation = invocationOf(cli, command)
    const hub = invocation.hub()
    // Checked as the operator first, because an agent's own call would create a persona for a mistyped name.
    await hub.call('personas', 'get', { identity: persona })
    // Each invocation is a session of its own. Otherwise a later one would confirm signals that were never printed.
    const agent = await hub.as(persona, 'agent', `cli:${cli.ids.next()}`)
    if (take) return void (await drainAndShow(invocation, agent, limit, persona))
    const waiting = await agent.ask('signals', 'pending', { limit, peek: true }, DrainResult)
    await invocation.out.result(waiting, () => describeQueue(persona, waiting, cli.clock.now()))
  })
}
