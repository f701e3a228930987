/** `turnbell connect git` and `disconnect git`: a post-commit hook of a repository that notifies turnbell. */
import { TurnbellError } from '../../contracts/errors/errors.ts'
import { nearestMemory } from '../../ports/path-inspector.ts'
import { systemPathInspector } from '../../system/files/path-inspector.ts'
import { shellWord } from '../../system/process/shell-word.ts'
import type { Invocation } from '../cli.ts'
import { connect, disconnect, projectDirectory } from '../connect/connect.ts'
import { noWorkTree, workTreeAround } from '../connect/git.ts'
import { EXIT } from '../../contracts/errors/exit-codes.ts'
import { fileLines, gitLines, isLeft, leftLines, printPatch, summaryOf } from '../connect/report.ts'

interface Options {
  persona?: string
  project?: string
  print?: boolean
  trustHooks?: boolean
}

/** Connects the whole work tree of the given directory. */
export async function runConnectGit(invocation: Invocation, options: Options): Promise<void> {
  const { cli, out } = invocation
  refuseOption('--persona', options.persona !== undefined, 'git acts for no persona')
  refuseOption('--trust-hooks', options.trustHooks === true, 'git runs its hooks without it')
  const directory = projectDirectory(cli.cwd, options.project)
  const project = workTreeAround(cli, directory)
  if (project === null) throw noWorkTree(directory)
  requireMemoryAtRoot(invocation, directory, project)
  const outcome = await connect(invocation, { client: 'git', project, print: options.print ?? false })
  if (options.print === true) return printPatch(invocation, outcome)
  await out.result(summaryOf(outcome), () =>
    [
      outcome.plan.changed
        ? `git notifies turnbell of commits in ${project}.`
        : `git already notifies turnbell of commits in ${project}; nothing was changed.`,
      ...fileLines(outcome),
      ...gitLines(outcome),
      'Each commit archives entries that are older than the previous commit, except decisions and open entries.',
      `To turn this off, set archive.auto_archive_on_commit in the project's .turnbell/config.yml.`,
    ].join('\n'),
  )
}

export async function runDisconnectGit(invocation: Invocation, options: Options): Promise<void> {
  const { cli, out } = invocation
  refuseOption('--persona', options.persona !== undefined, 'git acts for no persona')
  const directory = projectDirectory(cli.cwd, options.project, { gone: true })
  const project = workTreeAround(cli, directory) ?? directory
  const { print = false } = options
  const outcome = await disconnect(invocation, { client: 'git', project, print }, async () => {})
  if (print) return printPatch(invocation, outcome)
  if (isLeft(outcome)) cli.exitWith(EXIT.failed)
  await out.result({ ...summaryOf(outcome), client: 'git', project }, () =>
    [
      outcome.connection === null
        ? `git in ${project} is not connected; nothing was changed.`
        : `git no longer notifies turnbell of commits in ${project}.`,
      ...fileLines(outcome),
      ...leftLines(outcome),
    ].join('\n'),
  )
}

/**
 * Throws `usage_invalid` if the directory's memory is below the root of the work tree, because a commit archives only at
 * the root. A project without a memory will have it at the root.
 */
function requireMemoryAtRoot({ home }: Invocation, directory: string, root: string): void {
  const places = systemPathInspector(home)
  const memory = nearestMemory(places, directory)
  if (memory === null || memory === root) return
  const by_hand = `archive the entries of ${memory} with \`blackboard archive\``
  throw new TurnbellError('usage_invalid', {
    detail: `The memory of ${directory} is in ${memory}, but a commit archives only at the root of its work tree, ${root}.`,
    hint: places.hasMemory(root)
      ? `Connect the root with --project ${shellWord(root)}, and ${by_hand}.`
      : `A${by_hand.slice(1)}.`,
  })
}

function refuseOption(option: string, given: boolean, why: string): void {
  if (!given) return
  throw new TurnbellError('usage_invalid', { detail: `${option}: ${why}.`, hint: 'Omit it.' })
}
