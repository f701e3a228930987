/** `turnbell shutdown`, `notify` and `resume`: verbs of a persona's control socket. */
import type { Command } from 'commander'
import type { NotifyResult } from '../../contracts/control.ts'
import { EXIT } from '../../contracts/errors/exit-codes.ts'
import { type Cli, invocationOf, parseIdentity } from '../cli.ts'
import { unlessUnknown } from '../personas/known.ts'
import { examples } from '../render.ts'
import { describeStopped, stopDaemon } from '../stop-daemon.ts'

export function registerControl(program: Command, cli: Cli): void {
  const shutdown = program
    .command('shutdown')
    .description('stop a daemon cleanly and wait until it has ended')
    .requiredOption('--persona <name>', 'the persona', parseIdentity)
    .addHelpText('after', examples([['turnbell shutdown --persona ada', 'her signals stay pending']]))
  shutdown.action(async ({ persona }: { persona: string }) => {
    const invocation = invocationOf(cli, shutdown)
    const { out } = invocation
    const stopped = await stopDaemon(invocation, persona).catch(unlessUnknown(invocation, persona))
    await out.result(stopped, () => describeStopped(stopped))
  })

  const notify = program
    .command('notify')
    .description('request a doorbell now, or at the end of the running turn')
    .requiredOption('--persona <name>', 'the persona', parseIdentity)
    .addHelpText('after', examples([['turnbell notify --persona ada', 'if signals are pending for her']]))
  notify.action(async ({ persona }: { persona: string }) => {
    const invocation = invocationOf(cli, notify)
    const { out, control } = invocation
    const result = await control(persona).notify().catch(unlessUnknown(invocation, persona))
    await out.result(result, () => describeNotify(persona, result))
    if (!result.accepted) cli.exitWith(EXIT.refused)
  })

  const resume = program
    .command('resume')
    .description("bind the surface again after the agent's window was restarted")
    .requiredOption('--persona <name>', 'the persona', parseIdentity)
    .addHelpText('after', examples([['turnbell resume --persona ada', 'after restarting her client']]))
  resume.action(async ({ persona }: { persona: string }) => {
    const invocation = invocationOf(cli, resume)
    const { out, control } = invocation
    const result = await control(persona).resume().catch(unlessUnknown(invocation, persona))
    await out.result(result, () =>
      result.accepted
        ? `The surface of ${persona} is being bound again.`
        : `The daemon of ${persona} has nothing to bind: its surface attaches by itself.`,
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
      return `Nothing waits for ${persona}, so no doorbell rings.`
    case 'already_rung':
      return `${persona} was already rung and has not drained since.`
    case 'surface_absent':
      return `The surface of ${persona} is not attached, so no doorbell can ring.`
    case 'not_connected':
      return `The daemon of ${persona} is not connected to the hub, so it does not know what is pending.`
  }
}
