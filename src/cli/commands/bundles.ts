/**
 * `hub`, `daemon` and `mcp`, which bin.ts starts as bundles of their own. They are declared here for help, and for
 * command lines that begin with a global option.
 */
import type { Command } from 'commander'
import type { BundleName } from '../../system/process/bundles.ts'
import type { Cli } from '../cli.ts'
import { examples } from '../render.ts'

export function registerBundles(program: Command, cli: Cli): void {
  const hub = program
    .command('hub')
    .description('run the hub in the foreground; prints `turnbell hub ready URL` once it answers')
    .option('--host <host>', 'address to listen on (127.0.0.1)')
    .option('--port <port>', 'port to listen on; 0 picks a free one (4888, or a free one if that is in use)')
    .option('--store <store>', 'where signals are stored: file:, file:/DIR or memory: (file:)')
    .option('--stdio', 'also serve MCP on stdin and stdout, until stdin ends')
    .option('--persona <name>', 'with --stdio: the calling persona (TURNBELL_PERSONA)')
    .option('--tls-cert <file>', 'certificate; required for an address other than loopback')
    .option('--tls-key <file>', 'key of the certificate')
    .option('--behind-proxy', 'a proxy in front of the hub terminates TLS')
    .option('--repair', 'quarantine a damaged line of the journal, then start')
    .addHelpText('after', examples([['turnbell hub --port 0', 'any free port; the ready line names it']]))
  delegate(hub, 'hub')

  const daemon = program
    .command('daemon')
    .description("run one persona's daemon in the foreground")
    .option('--persona <name>', 'the persona')
    .option('--hub <url>', 'the hub (the one of this home)')
    .option('--surface <kind>', 'where the agent can be reached (as configured)')
    .option(
      '--token-file <file>',
      'token from `turnbell token create --kind daemon`, for the hub of another home',
    )
    .addHelpText(
      'after',
      examples([['turnbell daemon --persona ada', 'rings ada when signals wait for her']]),
    )
  delegate(daemon, 'daemon')

  const mcp = program
    .command('mcp')
    .description('serve MCP over stdio: proxies to the hub; starts or embeds one if none runs')
    .option('--stdio', 'the only transport; accepted for clarity')
    .option('--persona <name>', 'the calling persona (TURNBELL_PERSONA)')
    .option('--prefer-daemon <url>', 'the hub to proxy to')
    .option('--no-autostart', 'do not start a hub; embed one until another hub starts')
    .option('--create', 'create the persona if it does not exist')
    .option('--facet <name...>', 'only these groups of tools')
    .option('--facade <name...>', 'only these facades')
    .option('--read-only', 'only actions that change nothing')
    .option('--detail <tier>', 'full, compact or micro')
    .addHelpText('after', examples([['turnbell mcp --persona ada', 'the command for an MCP client']]))
  delegate(mcp, 'bridge')

  /** Passes undeclared options on unchanged, because the bundle checks them itself. */
  function delegate(command: Command, bundle: BundleName): void {
    command.allowUnknownOption().allowExcessArguments()
    command.action(() => cli.startBundle(bundle, [...argumentsOf(command), ...command.args]))
  }
}

/** Returns the declared options that were given, as arguments for the bundle. */
function argumentsOf(command: Command): string[] {
  const given: string[] = []
  for (let at: Command | null = command; at !== null; at = at.parent) {
    for (const option of at.options) {
      if (at.getOptionValueSource(option.attributeName()) !== 'cli') continue
      const value: unknown = at.getOptionValue(option.attributeName())
      if (typeof value === 'boolean') given.push(option.long ?? option.flags)
      else for (const item of [value].flat()) given.push(option.long ?? option.flags, String(item))
    }
  }
  return given
}
