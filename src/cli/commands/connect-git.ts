/** `turnbell connect git`, `disconnect git`: whether a repository's own hook tells turnbell of commits. */
import { TurnbellError } from '../../contracts/errors.ts'
import { memoryAround } from '../../ports/places.ts'
import { systemPlaces } from '../../system/places.ts'
import { shellWord } from '../../system/shell-word.ts'
import type { Invocation } from '../cli.ts'
import { connect, disconnect, projectDirectory } from '../connect/connect.ts'
import { noWorkTree, workTreeAround } from '../connect/git.ts'
import { EXIT } from '../../contracts/exit-codes.ts'
import { fileLines, gitLines, isLeft, leftLines, printPatch, summaryOf } from '../connect/told.ts'

interface Options {
  persona?: string
  project?: string
  print?: boolean
  trustHooks?: boolean
}

/** A work tree is connected as a whole, whatever directory in it was named. */
export async function runConnectGit(invocation: Invocation, options: Options): Promise<void> {
  const { cli, out } = invocation
  refuseFor('--persona', options.persona !== undefined, 'git acts for nobody')
  refuseFor('--trust-hooks', options.trustHooks === true, 'git runs its hooks without it')
  const directory = projectDirectory(cli.cwd, options.project)
  const project = workTreeAround(cli, directory)
  if (project === null) throw noWorkTree(directory)
  needMemoryAtRoot(invocation, directory, project)
  const outcome = await connect(invocation, { client: 'git', project, print: options.print ?? false })
  if (options.print === true) return printPatch(invocation, outcome)
  await out.result(summaryOf(outcome), () =>
    [
      outcome.plan.changed
        ? `git tells turnbell of commits in ${project}.`
        : `git tells turnbell of commits in ${project} already; nothing was changed.`,
      ...fileLines(outcome),
      ...gitLines(outcome),
      'A commit archives what was posted before the one before it, but for decisions and what is open.',
      `The project's .turnbell/config.yml may say otherwise: archive.auto_archive_on_commit.`,
    ].join('\n'),
  )
}

export async function runDisconnectGit(invocation: Invocation, options: Options): Promise<void> {
  const { cli, out } = invocation
  refuseFor('--persona', options.persona !== undefined, 'git acts for nobody')
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
        : `git tells turnbell of commits in ${project} no more.`,
      ...fileLines(outcome),
      ...leftLines(outcome),
    ].join('\n'),
  )
}

/** Where nothing is remembered yet, it will be at the root. Another memory would wait for commits in vain. */
function needMemoryAtRoot({ home }: Invocation, directory: string, root: string): void {
  const places = systemPlaces(home)
  const memory = memoryAround(places, directory)
  if (memory === null || memory === root) return
  const instead = `\`blackboard archive\` clears away what ${memory} remembers.`
  throw new TurnbellError('usage_invalid', {
    detail: `What ${directory} is about is remembered in ${memory}, and a commit archives only at the root of its work tree, ${root}.`,
    hint: places.holdsMemory(root)
      ? `With --project ${shellWord(root)} a commit archives what is remembered there; ${instead}`
      : instead,
  })
}

function refuseFor(option: string, given: boolean, why: string): void {
  if (!given) return
  throw new TurnbellError('usage_invalid', { detail: `${option}: ${why}.`, hint: 'Leave it out.' })
}
