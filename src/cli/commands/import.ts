/** `turnbell import`: imports another tool's memory of a project. */
import path from 'node:path'
import { type Command, Option } from 'commander'
import { type Cli, invocationOf } from '../cli.ts'
import { projectDirectory } from '../connect/connect.ts'
import type { Unread } from '../import/parsed-import.ts'
import { upload, type Uploaded } from '../import/upload.ts'
import { readTwining, twiningFolder } from '../import/twining.ts'
import { examples, facts, printableLine } from '../render.ts'
import { EXIT } from '../../contracts/errors/exit-codes.ts'
import { Imported, type ImportSort } from '../../contracts/memory/import.ts'

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
    .description("import another tool's memory of a project; repeating it changes nothing")
    .addOption(new Option('--from <tool>', 'the tool').choices(TOOLS).makeOptionMandatory())
    .argument('<dir>', "the tool's folder, or the project that contains it")
    .option('--project <dir>', 'the project to import into (the directory that contains the folder)')
    .addHelpText(
      'after',
      examples([
        ['turnbell import --from twining .', 'imports .twining into the memory of this project'],
        [
          'turnbell import --from twining ~/old/.twining --project ~/code/shop',
          'imports into another project',
        ],
      ]),
    )
  command.action(async (directory: string, options: { project?: string }) => {
    const { hub, out } = invocationOf(cli, command)
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
    if (unread.length > 0) cli.exitWith(EXIT.failed)
  })
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
