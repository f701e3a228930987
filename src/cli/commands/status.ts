/** `turnbell status`: what the daemons of this home say of themselves, and the hub of what has expired. */
import type { Command } from 'commander'
import * as z from 'zod'
import { LIMITS } from '../../contracts/limits.ts'
import type { PersonaStatus } from '../../contracts/persona-status.ts'
import { toProblem, TurnbellError } from '../../contracts/errors.ts'
import { findHub, runningHub } from '../../system/hub-address.ts'
import { type Cli, type Invocation, invocationOf, parseIdentity } from '../cli.ts'
import { unlessUnknown } from '../personas/known.ts'
import { personasOfHome } from '../personas/of-home.ts'
import { count, describeStatus, duration, examples, STATUS_HEAD, statusRow, table } from '../render.ts'

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
    const expiring = expiredAtHub(invocation)
    if (persona !== undefined) {
      const status = await invocation.control(persona).status().catch(unlessUnknown(invocation, persona))
      const project = projectOf(invocation, persona)
      const expired_count = (await expiring).get(persona) ?? null
      await invocation.out.result(status, () =>
        [
          hubLine(invocation),
          describeStatus(status, project, cli.clock.now()),
          ...expiredLines([{ identity: persona, expired_count }]),
        ].join('\n'),
      )
      return
    }
    const personas = await statusOfAll(invocation, expiring)
    await invocation.out.result(personas, () => describeAll(invocation, personas))
  })
}

const Expired = z.object({
  personas: z.array(z.object({ identity: z.string(), expired_count: z.number().int() })),
})

/** Of each persona; nothing where no hub says it in time. */
async function expiredAtHub(invocation: Invocation): Promise<ReadonlyMap<string, number>> {
  try {
    const listed = await invocation.hub().call('personas', 'list', {}, undefined, LIMITS.control_answer_ms)
    const { personas } = Expired.parse(listed)
    return new Map(personas.map(({ identity, expired_count }) => [identity, expired_count]))
  } catch (error) {
    if (error instanceof TurnbellError || error instanceof z.ZodError) return new Map()
    throw error
  }
}

/** Side by side: one daemon that does not answer must not make the others wait. */
export function statusOfAll(
  invocation: Invocation,
  expiring: Promise<ReadonlyMap<string, number>> = Promise.resolve(new Map()),
): Promise<PersonaStatus[]> {
  const { ids } = invocation.cli
  return Promise.all(
    personasOfHome(invocation).map(async (identity): Promise<PersonaStatus> => {
      const project = projectOf(invocation, identity)
      const expired_count = async () => (await expiring).get(identity) ?? null
      try {
        const status = await invocation.control(identity).status()
        return { identity, running: true, project, expired_count: await expired_count(), status }
      } catch (error) {
        if (!(error instanceof TurnbellError)) throw error
        const problem = toProblem(error, ids.next())
        return { identity, running: false, project, expired_count: await expired_count(), problem }
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

function expiredLines(found: readonly Pick<PersonaStatus, 'identity' | 'expired_count'>[]): string[] {
  return found.flatMap(({ identity, expired_count }) =>
    expired_count === null || expired_count === 0
      ? []
      : [
          `${count(expired_count, 'signal')} to ${identity} expired; \`turnbell log --persona ${identity}\` names them`,
        ],
  )
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
  return [hubLine(invocation), colors.dim(head), ...lines, ...expiredLines(found)].join('\n')
}
