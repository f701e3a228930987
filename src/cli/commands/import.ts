/** `turnbell import`: takes over what another tool remembered of a project. */
import path from 'node:path'
import { type Command, Option } from 'commander'
import { type Cli, invocationOf } from '../cli.ts'
import { projectDirectory } from '../connect/connect.ts'
import type { Unread } from '../import/found.ts'
import { handOver, type HandedOver } from '../import/hand-over.ts'
import { readTwining, twiningFolder } from '../import/twining.ts'
import { examples, facts, printableLine } from '../render.ts'
import { EXIT } from '../../contracts/exit-codes.ts'
import { Imported, type ImportSort } from '../../contracts/import.ts'

const TOOLS = ['twining'] as const

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
    .description("take over another tool's memory of a project; doing it again changes nothing")
    .addOption(new Option('--from <tool>', 'which tool').choices(TOOLS).makeOptionMandatory())
    .argument('<dir>', 'its folder, or the project that has one')
    .option('--project <dir>', 'whose memory it becomes (the directory that holds the folder)')
    .addHelpText(
      'after',
      examples([
        ['turnbell import --from twining .', 'what .twining here holds becomes memory of this project'],
        ['turnbell import --from twining ~/old/.twining --project ~/code/shop', 'of another one'],
      ]),
    )
  command.action(async (said: string, options: { project?: string }) => {
    const { hub, out } = invocationOf(cli, command)
    const { folder, project } = twiningFolder(path.resolve(cli.cwd, said))
    const root = projectDirectory(cli.cwd, options.project ?? project ?? undefined)
    const found = readTwining(folder)
    const client = hub()
    const handed = await handOver(found.items, (input) =>
      client.ask('context', 'import', input, Imported, root),
    )
    const { left_out } = found
    const unread = [...found.unread, ...handed.unread]
    const { project_id, counts, changed } = handed
    await out.result({ from: folder, project: root, project_id, counts, changed, unread, left_out }, () =>
      describe({ folder, root, left_out, unread }, handed),
    )
    if (unread.length > 0) cli.exitWith(EXIT.failed)
  })
}

function describe(
  { folder, root, left_out, unread }: { folder: string; root: string; left_out: string[]; unread: Unread[] },
  { counts, changed }: HandedOver,
): string {
  const lines = Object.entries(SORTS).map(([sort, name]): [string, string] => {
    const { taken, known, changed: other } = counts[sort as ImportSort]
    const more = other === 0 ? '' : `, ${other} here with other content, which stays`
    return [name, `${taken} taken over, ${known} here already${more}`]
  })
  // Ids, names and reasons are of a folder that may come from anywhere.
  return [
    `${root} remembers what ${folder} holds:`,
    ...facts(lines).split('\n'),
    ...changed.map(({ sort, id }) => `Not taken over: ${id} (${SORTS[sort]}) says something else here.`),
    ...byReason(unread).map(([first, ...others]) => {
      const more = others.length === 0 ? '' : `, and ${others.length} more`
      return `Could not be read: ${spotted(first)}${more}: ${first.reason}`
    }),
    ...(left_out.length === 0
      ? []
      : [
          `Left where it is: ${left_out.join(', ')}. Settings of turnbell's own are in ${path.join(root, '.turnbell', 'config.yml')}.`,
        ]),
  ]
    .map(printableLine)
    .join('\n')
}

/** Those of one file with the same reason. */
function byReason(unread: readonly Unread[]): [Unread, ...Unread[]][] {
  const groups = new Map<string, [Unread, ...Unread[]]>()
  for (const one of unread) {
    const key = JSON.stringify([one.file, one.reason])
    const group = groups.get(key)
    if (group === undefined) groups.set(key, [one])
    else group.push(one)
  }
  return [...groups.values()]
}

function spotted({ file, line, item, id }: Unread): string {
  const place = line === undefined ? (item === undefined ? '' : `, item ${item}`) : `, line ${line}`
  return `${file}${place}${id === undefined ? '' : ` (${id})`}`
}
