/** `turnbell call`: any action of the kernel, as the operator. */
import { type Command, InvalidArgumentError } from 'commander'
import { type Cli, invocationOf } from '../cli.ts'
import { parseDuration } from '../duration.ts'
import { examples, printableJson } from '../render.ts'
import { scopedParams } from '../memory-scope.ts'
import { parseScope, withDirectoryMeant } from '../scope.ts'
import { readJson } from './send.ts'
import { EXIT } from '../../contracts/exit-codes.ts'
import { LIMITS } from '../../contracts/limits.ts'
import { FACADES } from '../../facades/all.ts'
import { cliAction, cliOverview } from '../../kernel/project-cli.ts'
import { createRegistry } from '../../kernel/registry.ts'

/** As docs/memory.md says it. */
const SCOPES = `A call is about what --scope names:
  . or project       the project around the working directory
  an id or an alias  that project
  a directory        the project around it that is nearest: one that the hub knows, or
                     the nearest directory upwards that has a .turnbell;
                     where neither is: the root of git's work tree, else the directory itself
  portfolio          the records of all known projects, only to read
  hub                the hub's own memory
Without it, blackboard, decisions, graph and context are about the project around the
working directory, which is named on stderr, and about the hub's own memory where there
is none; everything else is about the hub.
"scope" in the params is a part of that project: a path, a module, a symbol, or project
for all of it. A path that begins with ./ or ../ is one from the working directory, as
is any other that is there; else it is one from the project's root. A directory whose .turnbell is a home of
turnbell, as in ~, is no project and is refused.`

interface Options {
  params: string
  scope?: string
  /** In milliseconds. */
  wait?: number
}

export function registerCall(program: Command, cli: Cli): void {
  const command: Command = program
    .command('call')
    .description('any action of the hub, as the operator')
    .argument('<facade>', 'such as signals or personas')
    .argument('<action>', 'such as list')
    .option('--params <json>', 'the parameters; @FILE reads a file, - reads stdin', '{}')
    .option(
      '--scope <project>',
      'what it is about: a directory, a project, or portfolio; see below',
      parseScope(cli),
    )
    .option(
      '--wait <duration>',
      'how long to wait for the answer, as for a routine: up to 4m (30s)',
      parseWait,
    )
    .addHelpText('after', () => `\n${helpFor(command.args)}\n\n${SCOPES}`)
    .addHelpText(
      'after',
      examples([
        ['turnbell call personas list', 'who exists, and what waits for them'],
        ['turnbell call decisions list --scope .', 'of the project around this directory'],
        ['turnbell call workflow preflight --scope . --wait 4m', 'tests may take their time'],
        [`turnbell call signals inbox --params '{"to":"ada","status":["dead"]}'`, 'what came back too often'],
      ]),
    )
  command.action(async (facade: string, action: string, options: Options) => {
    const { hub, out, home } = invocationOf(cli, command)
    const given = { facade, action, params: await readJson(cli, '--params', options.params) }
    const client = hub()
    const { scope, params, note } = await scopedParams(
      { cli, home, client },
      options.scope === undefined ? given : { ...given, scope: options.scope },
    )
    const result = await client.call(facade, action, params, scope, options.wait).catch((error: unknown) => {
      throw withDirectoryMeant(error, cli, options.scope)
    })
    if (note !== null) out.note(note)
    await out.result(result, () => printableJson(result))
    const unknown = unknownIn(result)
    if (unknown.length === 0) return
    out.note(`Nothing was done about ${unknown.join(', ')}: unknown, or not in a state for ${action}.`)
    cli.exitWith(EXIT.failed)
  })
}

/** Ids that an action reports instead of refusing the call. */
function unknownIn(result: unknown): string[] {
  const unknown = (result as { unknown?: unknown } | null)?.unknown
  return Array.isArray(unknown) ? unknown.filter((id) => typeof id === 'string') : []
}

function parseWait(text: string): number {
  const wait_ms = parseDuration(text) * 1_000
  if (wait_ms <= LIMITS.hub_answer_ms_max) return wait_ms
  throw new InvalidArgumentError(`It must be at most ${LIMITS.hub_answer_ms_max / 60_000}m.`)
}

/** `turnbell call --help` lists what there is, `turnbell call signals send --help` tells one action. */
function helpFor(words: readonly string[]): string {
  const registry = createRegistry(FACADES)
  const [facade, action] = words.filter((word) => !word.startsWith('-'))
  try {
    if (facade !== undefined && action !== undefined) return cliAction(registry.resolve(facade, action))
  } catch {
    // A name that is wrong gets the list of those that are right.
  }
  return cliOverview(registry)
}
