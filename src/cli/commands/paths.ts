/** `turnbell paths`: prints paths of the home. Works without a hub. */
import type { Command } from 'commander'
import { type Cli, invocationOf, parseIdentity } from '../cli.ts'
import { examples, facts } from '../render.ts'

export function registerPaths(program: Command, cli: Cli): void {
  const command = program
    .command('paths')
    .description('print the paths of home, configuration, logs and sockets')
    .option('--persona <name>', 'also the sockets, log and metrics of this persona', parseIdentity)
    .addHelpText(
      'after',
      examples([
        ['turnbell paths', 'home, configuration and log of the hub'],
        [
          'turnbell paths --persona ada --json',
          'also the sockets of ada, which are elsewhere if the home is deep',
        ],
      ]),
    )
  command.action(async ({ persona }: { persona?: string }) => {
    const { home, paths, out } = invocationOf(cli, command)
    const own = persona === undefined ? null : paths(persona)
    const result = {
      home: home.root,
      config: home.config,
      log: own?.log ?? home.hub_log,
      control_socket: own?.control_socket ?? null,
      surface_socket: own?.surface_socket ?? null,
      metrics_file: own?.metrics_file ?? null,
    }
    await out.result(result, () =>
      facts(
        Object.entries(result).flatMap(([name, value]) => (value === null ? [] : [[name, value] as const])),
        0,
      ),
    )
  })
}
