/** `turnbell uninstall`: removes everything of turnbell outside its home, and the home with --purge. */
import type { Command } from 'commander'
import { TurnbellError } from '../../contracts/errors/errors.ts'
import { EXIT } from '../../contracts/errors/exit-codes.ts'
import { canAsk, confirm } from '../ask.ts'
import { type Cli, invocationOf, type Invocation } from '../cli.ts'
import { describeWindows, openWindows } from '../open-windows.ts'
import { count, examples, sentence } from '../render.ts'
import { describeServers, serversOfWindows } from '../uninstall/client-servers.ts'
import { uninstallHome, type UninstalledHome } from '../uninstall/uninstall-home.ts'
import { personasOfHome } from '../personas/of-home.ts'

interface Options {
  purge?: boolean
  yes?: boolean
}

export function registerUninstall(program: Command, cli: Cli): void {
  const command = program
    .command('uninstall')
    .description('remove wiring, services and sockets of this home; with --purge also the home')
    .option('--purge', 'also delete the home, with every signal in it')
    .option('--yes', 'do not ask for confirmation')
    .addHelpText(
      'after',
      examples([
        ['turnbell uninstall', 'keeps the home; then run `npm uninstall --global turnbell`'],
        ['turnbell uninstall --purge --yes', 'removes everything'],
      ]),
    )
  command.action(async ({ purge = false, yes = false }: Options) => {
    const invocation = invocationOf(cli, command)
    const { out } = invocation
    if (!yes && !(await isConfirmed(invocation, purge))) {
      out.note('Nothing was changed.')
      return cli.exitWith(EXIT.failed)
    }
    const result = await uninstallHome(invocation, { purge })
    if (!result.ok) cli.exitWith(EXIT.failed)
    await out.result(result, () => describe(invocation, result, purge))
  })
}

/** `--purge` requires a confirmation or `--yes`. */
async function isConfirmed(invocation: Invocation, purge: boolean): Promise<boolean> {
  const { cli, home, out, json } = invocation
  const personas = personasOfHome(invocation)
  const windows = await openWindows(invocation, personas)
  if (windows.length > 0) out.note(describeWindows(windows))
  const servers = serversOfWindows(invocation, personas)
  if (servers.length > 0) out.note(describeServers(servers, purge))
  if (!json && canAsk(cli))
    return confirm(cli, purge ? `Uninstall, and delete ${home.root} with every signal in it?` : 'Uninstall?')
  if (!purge) return true
  throw new TurnbellError('usage_invalid', {
    detail: `--purge deletes ${home.root} and needs a confirmation, but stdin or stderr is not a terminal.`,
    hint: 'Add --yes.',
  })
}

function describe({ home }: Invocation, result: UninstalledHome, purge: boolean): string {
  const { disconnected, services, daemons, hub_pid, servers, sockets, left, failed, purged } = result
  const done = [
    ...(disconnected.length === 0 ? [] : [count(disconnected.length, 'connection')]),
    ...(services.length === 0 ? [] : [count(services.length, 'service')]),
    ...(daemons.length === 0 ? [] : [count(daemons.length, 'daemon')]),
    ...(hub_pid === null ? [] : ['the hub']),
    ...servers.map(({ identity, client, pid }) => `the ${client} server of ${identity} (process ${pid})`),
    ...(sockets.length === 0 ? [] : [count(sockets.length, 'socket')]),
  ]
  return [
    done.length === 0 ? 'There was nothing to remove.' : `Removed: ${done.join(', ')}.`,
    ...failed.map(({ detail, hint }) => `Failed: ${sentence(detail)} ${hint}`),
    purged
      ? `${home.root} is deleted.`
      : purge
        ? `${home.root} stays${left.length === 0 ? '' : `, because of files that are not turnbell's: ${left.join(', ')}`}.`
        : `${home.root} stays, with signals, the hub's memory and the configuration. --purge deletes it.`,
    ...(result.ok ? ['Then: npm uninstall --global turnbell'] : []),
  ].join('\n')
}
