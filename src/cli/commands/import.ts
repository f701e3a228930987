/** `turnbell import`: imports another tool's memory of a project, or the history of a client. */
import path from 'node:path'
import { type Command, Option } from 'commander'
import { type Cli, type Invocation, invocationOf, parseIdentity } from '../cli.ts'
import { projectDirectory } from '../connect/connect.ts'
import { parseDuration } from '../duration.ts'
import { claudeHistory } from '../import/claude-code/find.ts'
import { codexHistory } from '../import/codex/find.ts'
import { describeHistory } from '../import/history/describe.ts'
import { importHistory } from '../import/history/import-history.ts'
import type { HistoryReader } from '../import/history/session.ts'
import type { Unread } from '../import/parsed-import.ts'
import { upload, type Uploaded } from '../import/upload.ts'
import { readTwining, twiningFolder } from '../import/twining.ts'
import { examples, facts, printableLine } from '../render.ts'
import { TurnbellError } from '../../contracts/errors/errors.ts'
import { OPERATOR } from '../../contracts/ids.ts'
import { LIMITS } from '../../contracts/limits/limits.ts'
import { EXIT } from '../../contracts/errors/exit-codes.ts'
import { Imported, type ImportSort } from '../../contracts/memory/import.ts'

const TOOLS = ['twining'] as const
const CLIENTS = ['claude-code', 'codex'] as const
const READERS: Record<(typeof CLIENTS)[number], HistoryReader> = {
  'claude-code': claudeHistory,
  codex: codexHistory,
}
/** The hub deletes what is older. */
const DEFAULT_SINCE_S = LIMITS.activity_retention_days * 86_400

const SORTS: Record<ImportSort, string> = {
  entries: 'entries',
  decisions: 'decisions',
  entities: 'entities',
  relations: 'relations',
  archived: 'archived entries',
}

export function registerImport(program: Command, cli: Cli): void {
  const command = program
    .command('import')
    .description("import another tool's memory, or a client's history; repeating it changes nothing")
    .addOption(
      new Option('--from <tool>', 'the tool or the client')
        .choices([...TOOLS, ...CLIENTS])
        .makeOptionMandatory(),
    )
    .argument(
      '[dir]',
      "the tool's folder, or the project that contains it; the client's folder (its default)",
    )
    .option('--project <dir>', 'the project to import into (the directory that contains the folder)')
    .option('--persona <name>', 'the persona of the imported sessions', parseIdentity, OPERATOR)
    .option('--since <duration>', 'only sessions that changed since then', parseDuration, DEFAULT_SINCE_S)
    .option('--dry-run', 'only count what would be imported')
    .addHelpText(
      'after',
      examples([
        ['turnbell import --from twining .', 'imports .twining into the memory of this project'],
        [
          'turnbell import --from twining ~/old/.twining --project ~/code/shop',
          'imports into another project',
        ],
        ['turnbell import --from claude-code', 'imports the sessions of the last 30 days'],
        ['turnbell import --from codex --since 7d --dry-run', 'counts those of a week'],
      ]),
    )
  command.action(async (directory: string | undefined, options: Options) => {
    const unusable = unusableOptions(command, options.from === 'twining')
    if (unusable !== null || (options.from === 'twining' && directory === undefined))
      throw new TurnbellError('usage_invalid', {
        detail:
          unusable === null
            ? '--from twining requires a folder.'
            : `--from ${options.from} does not use ${unusable}.`,
        hint: 'Run `turnbell import --help` for examples.',
      })
    const run = options.from === 'twining' ? importTwining : importClient
    if (!(await run(invocationOf(cli, command), directory, options))) cli.exitWith(EXIT.failed)
  })
}

interface Options {
  from: (typeof TOOLS)[number] | (typeof CLIENTS)[number]
  project?: string
  persona: string
  /** Seconds. */
  since: number
  dryRun?: boolean
}

/** Returns the first option that was given and belongs to the other kind of import. */
function unusableOptions(command: Command, of_tool: boolean): string | null {
  const others = of_tool ? (['persona', 'since', 'dryRun'] as const) : (['project'] as const)
  const given = others.find((name) => command.getOptionValueSource(name) === 'cli')
  return given === undefined ? null : given === 'dryRun' ? '--dry-run' : `--${given}`
}

/** Resolves with false if something was not readable. */
async function importClient(
  { cli, hub, out }: Invocation,
  directory: string | undefined,
  { from, persona, since, dryRun: dry_run = false }: Options,
): Promise<boolean> {
  if (from === 'twining') return false
  const reader = READERS[from]
  const folder = directory === undefined ? reader.folder(cli.env) : path.resolve(cli.cwd, directory)
  const { clock, ids } = cli
  const found = reader.find(folder, clock.now() - since * 1_000)
  const deps = { hub: hub(), clock, ids, client: from, identity: persona, dry_run }
  const summary = await importHistory(deps, found)
  await out.result({ from: folder, client: from, identity: persona, dry_run, ...summary }, () =>
    describeHistory(folder, persona, dry_run, summary),
  )
  return summary.unread.length === 0
}

async function importTwining(
  { cli, hub, out }: Invocation,
  directory = '.',
  options: Options,
): Promise<boolean> {
  const { folder, project } = twiningFolder(path.resolve(cli.cwd, directory))
  const root = projectDirectory(cli.cwd, options.project ?? project ?? undefined)
  const parsed = readTwining(folder)
  const client = hub()
  const uploaded = await upload(parsed.items, (input) =>
    client.ask('context', 'import', input, Imported, root),
  )
  const { left_out } = parsed
  const unread = [...parsed.unread, ...uploaded.unread]
  const { project_id, counts, changed } = uploaded
  await out.result({ from: folder, project: root, project_id, counts, changed, unread, left_out }, () =>
    describe({ folder, root, left_out, unread }, uploaded),
  )
  return unread.length === 0
}

function describe(
  { folder, root, left_out, unread }: { folder: string; root: string; left_out: string[]; unread: Unread[] },
  { counts, changed }: Uploaded,
): string {
  const lines = Object.entries(SORTS).map(([sort, name]): [string, string] => {
    const { taken, known, changed: other } = counts[sort as ImportSort]
    const more = other === 0 ? '' : `, ${other} skipped because their content here differs`
    return [name, `${taken} imported, ${known} already here${more}`]
  })
  // Ids, names and reasons come from the folder, which is not trusted.
  return [
    `Imported ${folder} into the memory of ${root}:`,
    ...facts(lines).split('\n'),
    ...changed.map(({ sort, id }) => `Skipped: ${id} (${SORTS[sort]}) has different content here.`),
    ...byReason(unread).map(([first, ...others]) => {
      const more = others.length === 0 ? '' : `, and ${others.length} more`
      return `Not readable: ${describeLocation(first)}${more}: ${first.reason}`
    }),
    ...(left_out.length === 0
      ? []
      : [
          `Not imported: ${left_out.join(', ')}. turnbell's own settings are in ${path.join(root, '.turnbell', 'config.yml')}.`,
        ]),
  ]
    .map(printableLine)
    .join('\n')
}

/** Groups the items of one file that have the same reason. */
function byReason(unread: readonly Unread[]): [Unread, ...Unread[]][] {
  const groups = new Map<string, [Unread, ...Unread[]]>()
  for (const item of unread) {
    const key = JSON.stringify([item.file, item.reason])
    const group = groups.get(key)
    if (group === undefined) groups.set(key, [item])
    else group.push(item)
  }
  return [...groups.values()]
}

function describeLocation({ file, line, item, id }: Unread): string {
  const place = line === undefined ? (item === undefined ? '' : `, item ${item}`) : `, line ${line}`
  return `${file}${place}${id === undefined ? '' : ` (${id})`}`
}
