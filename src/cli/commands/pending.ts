/** `turnbell pending`: what waits for a persona. Only `--take` drains, as that persona's agent. */
import type { Command } from 'commander'
import { TurnbellError } from '../../contracts/errors.ts'
import { LIMITS } from '../../contracts/limits.ts'
import { DrainResult } from '../../contracts/signal.ts'
import { type Cli, invocationOf, parseIdentity, parseWhole } from '../cli.ts'
import { examples } from '../render.ts'
import { describeQueue, takeAndShow } from '../take.ts'

interface Options {
  persona: string
  take?: boolean
  peek?: boolean
  limit: number
}

export function registerPending(program: Command, cli: Cli): void {
  const command = program
    .command('pending')
    .description('what waits for a persona; --take drains it')
    .requiredOption('--persona <name>', 'whose signals', parseIdentity)
    .option('--take', "drain as that persona's agent: the agent itself does not get them any more")
    .option('--peek', 'only look; an old name for what happens without --take')
    .option(
      '--limit <n>',
      `at most this many (${LIMITS.drain_limit_default})`,
      parseWhole(1, LIMITS.drain_limit_max),
      LIMITS.drain_limit_default,
    )
    .addHelpText(
      'after',
      examples([
        ['turnbell pending --persona ada', 'what waits for ada'],
        ['turnbell pending --persona ada --take --json', 'take it, for a program'],
      ]),
    )
  command.action(async ({ persona, take = false, peek = false, limit }: Options) => {
    if (take && peek) {
      throw new TurnbellError('usage_invalid', {
        detail: '--take drains and --peek only looks.',
        hint: 'Give one of them.',
      })
    }
    const invocation = invocationOf(cli, command)
    const hub = invocation.hub()
    // Asked as the operator first: an agent's own call would make a persona of a mistyped name.
    await hub.call('personas', 'get', { identity: persona })
    // Each invocation is a session of its own, so that a later one confirms nothing that was never shown.
    const agent = await hub.as(persona, 'agent', `cli:${cli.ids.next()}`)
    if (take) return void (await takeAndShow(invocation, agent, limit, persona))
    const waiting = await agent.ask('signals', 'pending', { limit, peek: true }, DrainResult)
    await invocation.out.result(waiting, () => describeQueue(persona, waiting, cli.clock.now()))
  })
}
