/** `turnbell down`: stops every daemon and the hub of this home, however they were started. */
import type { Command } from 'commander'
import { EXIT } from '../../contracts/errors/exit-codes.ts'
import { canAsk, confirm } from '../ask.ts'
import { type Cli, type Invocation, invocationOf } from '../cli.ts'
import { stopHome, type StoppedHome } from '../down/stop-home.ts'
import { describeWindows, openWindows, type OpenWindow } from '../open-windows.ts'
import { count, examples } from '../render.ts'
import { personasOfHome } from '../personas/of-home.ts'

interface DownOptions {
  keepHub?: boolean
  yes?: boolean
}

export function registerDown(program: Command, cli: Cli): void {
  const command = program
    .command('down')
    .description('stop all daemons and the hub of this home, including those in the background')
    .option('--keep-hub', 'stop only the daemons')
    .option('--yes', 'stop without a question about open windows')
    .addHelpText(
      'after',
      examples([
        ['turnbell down', 'signals stay pending; `turnbell up` starts everything again'],
        ['turnbell down --keep-hub', 'agents can still send and drain'],
      ]),
    )
  command.action(async (options: DownOptions) => {
    const invocation = invocationOf(cli, command)
    const { out } = invocation
    const windows = await openWindows(invocation, personasOfHome(invocation))
    if (windows.length > 0) out.note(describeWindows(windows))
    if (windows.length > 0 && options.yes !== true && !(await isConfirmed(invocation))) {
      out.note('Nothing was stopped.')
      return cli.exitWith(EXIT.failed)
    }
    const stopped = await stopHome(invocation, { keep_hub: options.keepHub === true })
    await out.result({ ...stopped, windows }, () => describeStopped(stopped, windows, options))
    if (stopped.failed.length > 0) cli.exitWith(EXIT.failed)
  })
}

/** Returns true without a question if no person can answer it. */
async function isConfirmed({ cli, json }: Invocation): Promise<boolean> {
  return json || !canAsk(cli) || confirm(cli, 'Stop?')
}

function describeStopped(
  { daemons, hub, stand_in_pid, failed }: StoppedHome,
  windows: readonly OpenWindow[],
  { keepHub }: DownOptions,
): string {
  const stopped = [
    ...(daemons.length === 0
      ? []
      : [`${count(daemons.length, 'daemon')} (${daemons.map(({ identity }) => identity).join(', ')})`]),
    ...(hub === null ? [] : [`the hub (process ${hub.pid})`]),
  ]
  const running = [
    ...failed.map(({ name, detail }) => `Still running: ${name}: ${detail}`),
    ...(stand_in_pid === null
      ? []
      : [
          `Still running: the hub embedded in the bridge of an agent's client (process ${stand_in_pid}); it ends with that client.`,
        ]),
  ]
  const nothing = keepHub === true ? 'No daemon runs in this home.' : 'Nothing runs in this home.'
  return [
    ...(stopped.length > 0 ? [`Stopped: ${stopped.join(' and ')}.`] : running.length > 0 ? [] : [nothing]),
    ...running,
    ...(windows.length > 0 ? ['The open windows get doorbells again after `turnbell up`.'] : []),
  ].join('\n')
}
