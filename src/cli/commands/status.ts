/** `turnbell status`: what the daemons of this home say of themselves. Asks nobody else. */
import type { Command } from 'commander'
import type { PersonaStatus } from '../../contracts/persona-status.ts'
import { toProblem, TurnbellError } from '../../contracts/errors.ts'
import { findHub, runningHub } from '../../system/hub-address.ts'
import { type Cli, type Invocation, invocationOf, parseIdentity } from '../cli.ts'
import { unlessUnknown } from '../personas/known.ts'
import { personasOfHome } from '../personas/of-home.ts'
import { describeStatus, duration, examples, STATUS_HEAD, statusRow, table } from '../render.ts'

export function registerStatus(program: Command, cli: Cli): void {
  const command = program
    .command('status')
    .description('what the daemons say of themselves')
    .option('--persona <name>', 'only this one', parseIdentity)
    .addHelpText(
      'after',
      examples([
        ['turnbell status', 'every persona of this home'],
        ['turnbell status --persona ada --json', 'one, for programs'],
      ]),
    )
  command.action(async ({ persona }: { persona?: string }) => {
    const invocation = invocationOf(cli, command)
    if (persona !== undefined) {
      const status = await invocation.control(persona).status().catch(unlessUnknown(invocation, persona))
      const project = projectOf(invocation, persona)
      await invocation.out.result(status, () =>
        [hubLine(invocation), describeStatus(status, project, cli.clock.now())].join('\n'),
      )
      return
    }
    const found = await statusOfAll(invocation)
    await invocation.out.result(found, () => describeAll(invocation, found))
  })
}

/** Side by side: one daemon that does not answer must not make the others wait. */
export function statusOfAll(invocation: Invocation): Promise<PersonaStatus[]> {
  const { ids } = invocation.cli
  return Promise.all(
    personasOfHome(invocation).map(async (identity): Promise<PersonaStatus> => {
      try {
        const status = await invocation.control(identity).status()
        return { identity, running: true, project: projectOf(invocation, identity), status }
      } catch (error) {
        if (!(error instanceof TurnbellError)) throw error
        const project = projectOf(invocation, identity)
        return { identity, running: false, project, problem: toProblem(error, ids.next()) }
      }
    }),
  )
}

const projectOf = (invocation: Invocation, identity: string) =>
  invocation.config().personas[identity]?.project ?? null

/** The hub that commands of this home would call. */
function hubLine(invocation: Invocation): string {
  const { home, cli } = invocation
  const hub = runningHub(home)
  if (hub !== null) {
    const up_s = (cli.clock.now() - Date.parse(hub.started_at)) / 1000
    return `hub ${hub.url}, process ${hub.pid}, up ${duration(up_s)}`
  }
  const url = findHub(home, invocation.config())
  return url === null ? 'hub not running; start it: turnbell up' : `hub ${url}, not of this home`
}

function describeAll(invocation: Invocation, found: readonly PersonaStatus[]): string {
  const { colors, clock } = invocation.cli
  if (found.length === 0) {
    const none = 'No personas yet. Make one: turnbell persona add NAME --surface claude-code'
    return [hubLine(invocation), none].join('\n')
  }
  const rows = found.map((one) =>
    one.running
      ? statusRow(one.status, one.project, clock.now())
      : [one.identity, one.problem.code === 'daemon_unreachable' ? 'not running' : one.problem.code],
  )
  const [head = '', ...lines] = table(STATUS_HEAD, rows).split('\n')
  return [hubLine(invocation), colors.dim(head), ...lines].join('\n')
}
