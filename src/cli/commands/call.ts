/** `turnbell call`: calls any action of the hub, as the operator. */
import { type Command, InvalidArgumentError } from 'commander'
import { type Cli, invocationOf } from '../cli.ts'
import { parseDuration } from '../duration.ts'
import { examples, printableJson } from '../render.ts'
import { scopedParams } from '../memory-scope.ts'
import { parseScope, withDirectoryMeant } from '../scope.ts'
import { readJson } from './send.ts'
import { EXIT } from '../../contracts/errors/exit-codes.ts'
import { LIMITS } from '../../contracts/limits/limits.ts'
import { FACADES } from '../../facades/all.ts'
import { cliAction, cliOverview } from '../../kernel/projections/project-cli.ts'
import { createRegistry } from '../../kernel/registry.ts'

/** The rules of docs/guides/shared-memory.md. */
const SCOPES = `--scope selects the project of a call:
  . or project       the project around the working directory
  an id or an alias  that project
  a directory        the nearest project around it: one that the hub knows, or the nearest
                     directory upwards that has a .turnbell; if there is neither,
                     the root of git's work tree, else the directory itself
  portfolio          the records of all known projects, read-only
  hub                the hub's own memory
Without --scope, blackboard, decisions, graph and context use the project around the
working directory and print it on stderr. If there is none, they use the hub's own
memory. All other facades use the hub.
"scope" in the params is a part of that project: a path, a module, a symbol, or project
for all of it. A path is relative to the working directory if it begins with ./ or ../
or if it exists there; otherwise it is relative to the project's root. A directory whose
.turnbell is a home of turnbell, such as ~, is refused as a project.`

interface Options {
  params: string
  scope?: string
  /** In milliseconds. */
  wait?: number
}

export function registerCall(program: Command, cli: Cli): void {
  const command: Command = program
    .command('call')
    .description('call any action of the hub, as the operator')
    .argument('<facade>', 'such as signals or personas')
    .argument('<action>', 'such as list')
    .option('--params <json>', 'the parameters; @FILE reads a file, - reads stdin', '{}')
    .option(
      '--scope <project>',
      'the project: a directory, an id or alias, portfolio or hub; see below',
      parseScope(cli),
    )
    .option('--wait <duration>', 'how long to wait for the answer, up to 4m (30s)', parseWait)
    .addHelpText('after', () => `\n${helpFor(command.args)}\n\n${SCOPES}`)
    .addHelpText(
      'after',
      examples([
        ['turnbell call personas list', 'personas and their pending signals'],
        ['turnbell call decisions list --scope .', 'decisions of the project around this directory'],
        ['turnbell call workflow preflight --scope . --wait 4m', 'a routine with slow tests'],
        [
          `turnbell call signals inbox --params '{"to":"ada","status":["dead"]}'`,
          'signals redelivered too often',
        ],
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
    out.note(`Skipped ${unknown.join(', ')}: unknown, or not in a state that allows ${action}.`)
    cli.exitWith(EXIT.failed)
  })
}

/** Returns the ids that the action skipped. */
function unknownIn(result: unknown): string[] {
  const unknown = (result as { unknown?: unknown } | null)?.unknown
  return Array.isArray(unknown) ? unknown.filter((id) => typeof id === 'string') : []
}

function parseWait(text: string): number {
  const wait_ms = parseDuration(text) * 1_000
  if (wait_ms <= LIMITS.hub_answer_ms_max) return wait_ms
  throw new InvalidArgumentError(`It must be at most ${LIMITS.hub_answer_ms_max / 60_000}m.`)
}

/** Returns the list of actions for `turnbell call --help`, and one action for `turnbell call signals send --help`. */
function helpFor(words: readonly string[]): string {
  const registry = createRegistry(FACADES)
  const [facade, action] = words.filter((word) => !word.startsWith('-'))
  try {
    if (facade !== undefined && action !== undefined) return cliAction(registry.resolve(facade, action))
  } catch {
    // For an unknown name, help lists the valid ones.
  }
  return cliOverview(registry)
}
