/** `turnbell cancel`: cancels a signal that was not drained yet. */
import { InvalidArgumentError, type Command } from 'commander'
import * as z from 'zod'
import { SignalId } from '../../contracts/ids.ts'
import { type Cli, invocationOf } from '../cli.ts'
import { examples } from '../render.ts'

const Cancelled = z.object({ signal_id: SignalId, to: z.string(), status: z.literal('cancelled') })

export function registerCancel(program: Command, cli: Cli): void {
  const command = program
    .command('cancel')
    .description('cancel a signal that was not drained yet')
    .argument('<signal_id>', 'from the receipt of send, or from turnbell log', parseSignalId)
    .addHelpText(
      'after',
      examples([['turnbell cancel 01JZ0000000000000000000000', 'its recipient never receives it']]),
    )
  command.action(async (signal_id: string) => {
    const { hub, out } = invocationOf(cli, command)
    const cancelled = await hub().ask('signals', 'cancel', { signal_id }, Cancelled)
    await out.result(cancelled, () => `${signal_id}  cancelled; ${cancelled.to} will not receive it.`)
  })
}

function parseSignalId(text: string): string {
  const parsed = SignalId.safeParse(text.toUpperCase())
  if (parsed.success) return parsed.data
  throw new InvalidArgumentError('A signal id has 26 letters and digits.')
}
