/**
 * `hub`, `daemon` and `mcp` are programs of their own: bin.ts starts them without loading this one. They
 * stand here so that help lists them, and for command lines with a global option in front.
 */
import type { Command } from 'commander'
import type { BundleName } from '../../system/bundles.ts'
import type { Cli } from '../cli.ts'
import { examples } from '../render.ts'

export function registerBundles(program: Command, cli: Cli): void {
  const hub = program
    .command('hub')
    .description('the hub in the foreground; prints `turnbell hub ready URL` once it answers')
    .option('--host <host>', 'address to listen on (127.0.0.1)')
    .option('--port <port>', 'port to listen on; 0 picks a free one (4888, or another where that is taken)')
    .option('--store <store>', 'where signals are kept: file:, file:/DIR or memory: (file:)')
    .option('--stdio', 'also speak MCP on stdin and stdout, until stdin ends')
    .option('--persona <name>', 'with --stdio: who calls (TURNBELL_PERSONA)')
    .option('--tls-cert <file>', 'certificate; needed to listen beyond this machine')
    .option('--tls-key <file>', 'key of the certificate')
    .option('--behind-proxy', 'a proxy in front of the hub does TLS')
    .option('--repair', 'set a damaged line of the journal aside, then start')
    .addHelpText('after', examples([['turnbell hub --port 0', 'any free port; the ready line names it']]))
  leads(hub, 'hub')

  const daemon = program
    .command('daemon')
    .description("one persona's daemon in the foreground")
    .option('--persona <name>', 'whose daemon')
    .option('--hub <url>', 'which hub (the one of this home)')
    .option('--surface <kind>', 'where the agent can be reached (as configured)')
    .option(
      '--token-file <file>',
      'a token of `turnbell token create --kind daemon`, for the hub of another home',
    )
    .addHelpText(
      'after',
      examples([['turnbell daemon --persona ada', 'rings ada when signals wait for her']]),
    )
  leads(daemon, 'daemon')

  const mcp = program
    .command('mcp')
    .description('MCP over stdio: proxies to the hub, starts one if none runs, or stands in for it')
    .option('--stdio', 'the only transport there is; accepted for clarity')
    .option('--persona <name>', 'who calls (TURNBELL_PERSONA)')
    .option('--prefer-daemon <url>', 'which hub to proxy to')
    .option('--no-autostart', 'start no hub: be one until another comes')
    .option('--create', 'make the persona where there is none')
    .option('--facet <name...>', 'only these groups of tools, whatever else the hub offers')
    .option('--facade <name...>', 'only these facades')
    .option('--read-only', 'only what changes nothing')
    .option('--detail <tier>', 'full, compact or micro')
    .addHelpText('after', examples([['turnbell mcp --persona ada', 'what an MCP client is told to start']]))
  leads(mcp, 'bridge')

  /** What is not declared here goes on as it is: the program knows more, and refuses by itself what it does not. */
  function leads(command: Command, bundle: BundleName): void {
    command.allowUnknownOption().allowExcessArguments()
    command.action(() => cli.startBundle(bundle, [...argumentsOf(command), ...command.args]))
  }
}

/** The declared options that were really given, as the other program would have received them. */
function argumentsOf(command: Command): string[] {
  const given: string[] = []
  for (let at: Command | null = command; at !== null; at = at.parent) {
    for (const option of at.options) {
      if (at.getOptionValueSource(option.attributeName()) !== 'cli') continue
      const value: unknown = at.getOptionValue(option.attributeName())
      if (typeof value === 'boolean') given.push(option.long ?? option.flags)
      else for (const one of [value].flat()) given.push(option.long ?? option.flags, String(one))
    }
  }
  return given
}
