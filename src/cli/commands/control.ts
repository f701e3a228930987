/** `shutdown`, `notify`, `resume`: the other three verbs of a persona's control socket. */
import type { Command } from 'commander'
import type { NotifyResult } from '../../contracts/control.ts'
import { EXIT } from '../../contracts/exit-codes.ts'
import { type Cli, invocationOf, parseIdentity } from '../cli.ts'
import { unlessUnknown } from '../personas/known.ts'
import { examples } from '../render.ts'
import { describeStopped, stopDaemon } from '../stop-daemon.ts'

export function registerControl(program: Command, cli: Cli): void {
  const shutdown = program
    .command('shutdown')
    .description('stop a daemon cleanly and wait until it is gone')
    .requiredOption('--persona <name>', 'whose daemon', parseIdentity)
    .addHelpText('after', examples([['turnbell shutdown --persona ada', 'its signals keep waiting']]))
  shutdown.action(async ({ persona }: { persona: string }) => {
    const invocation = invocationOf(cli, shutdown)
    const { out } = invocation
    const stopped = await stopDaemon(invocation, persona).catch(unlessUnknown(invocation, persona))
    await out.result(stopped, () => describeStopped(stopped))
  })

  const notify = program
    .command('notify')
    .description('ask for one doorbell now, or at the end of the running turn')
    .requiredOption('--persona <name>', 'whose agent', parseIdentity)
    .addHelpText('after', examples([['turnbell notify --persona ada', 'if anything waits for her']]))
  notify.action(async ({ persona }: { persona: string }) => {
    const invocation = invocationOf(cli, notify)
    const { out, control } = invocation
    const result = await control(persona).notify().catch(unlessUnknown(invocation, persona))
    await out.result(result, () => describeNotify(persona, result))
    if (!result.accepted) cli.exitWith(EXIT.refused)
  })

  const resume = program
    .command('resume')
    .description("the agent's window was restarted: bind the surface again")
    .requiredOption('--persona <name>', 'whose surface', parseIdentity)
    .addHelpText('after', examples([['turnbell resume --persona ada', 'after restarting her client']]))
  resume.action(async ({ persona }: { persona: string }) => {
    const invocation = invocationOf(cli, resume)
    const { out, control } = invocation
    const result = await control(persona).resume().catch(unlessUnknown(invocation, persona))
    await out.result(result, () =>
      result.accepted
        ? `${persona}'s surface is being bound again.`
        : `${persona}'s daemon has nothing to bind: its surface starts by itself.`,
    )
    if (!result.accepted) cli.exitWith(EXIT.refused)
  })
}

function describeNotify(persona: string, { accepted, reason }: NotifyResult): string {
  switch (reason) {
    case undefined:
      return accepted ? `${persona} is being rung.` : `${persona} was not rung.`
    case 'mid_turn':
      return `${persona} is in a turn; the doorbell rings at its end.`
    case 'nothing_pending':
      return `Nothing waits for ${persona}, so nothing rings.`
    case 'already_rung':
      return `${persona} was rung already and has not drained since.`
    case 'surface_absent':
      return `${persona}'s surface is not attached, so nothing can ring there.`
    case 'not_connected':
      return `${persona}'s daemon is not connected to the hub; it cannot know what waits.`
  }
}
