/** `turnbell status`: status of the daemons of this home, and the hub's counts of pending and expired signals. */
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
    const counting = countsAtHub(invocation)
    if (persona !== undefined) return printOne(invocation, persona, counting)
    const personas = await statusOfAll(invocation, counting)
    await invocation.out.result(personas, () => describeAll(invocation, personas))
  })
}

/** The daemon's own status. Without a daemon the error says what waits at the hub. */
async function printOne(
  invocation: Invocation,
  identity: string,
  counting: Promise<ReadonlyMap<string, HubCounts>>,
): Promise<void> {
  const { out, cli, control } = invocation
  const asked = control(identity).status().catch(unlessUnknown(invocation, identity))
  const status = await asked.catch(async (error: unknown) => {
    const waiting = (await counting).get(identity)?.pending_count ?? 0
    if (!(error instanceof TurnbellError) || error.code !== 'daemon_unreachable' || waiting === 0) throw error
    const { detail, hint } = toProblem(error, cli.ids.next())
    throw new TurnbellError(error.code, {
      detail: `${detail} ${count(waiting, 'signal')} wait${waiting === 1 ? 's' : ''} at the hub.`,
      hint,
      cause: error,
    })
  })
  const known = await knownOf(invocation, identity, counting)
  const found = withHubCount({ ...known, running: true, status })
  await out.result(status, () =>
    [
      hubLine(invocation),
      describeStatus(found, known.project, cli.clock.now()),
      ...expiredLines([known]),
    ].join('\n'),
  )
}

const HubCounts = z.object({
  identity: z.string(),
  pending_count: z.number().int(),
  expired_count: z.number().int(),
})
type HubCounts = z.infer<typeof HubCounts>
const Listing = z.object({ personas: z.array(HubCounts) })

/** Counts by persona; empty if the hub does not answer within `control_answer_ms`. */
async function countsAtHub(invocation: Invocation): Promise<ReadonlyMap<string, HubCounts>> {
  try {
    const listed = await invocation.hub().call('personas', 'list', {}, undefined, LIMITS.control_answer_ms)
    return new Map(Listing.parse(listed).personas.map((counts) => [counts.identity, counts]))
  } catch (error) {
    if (error instanceof TurnbellError || error instanceof z.ZodError) return new Map()
    throw error
  }
}

/** Side by side: one daemon that does not answer must not make the others wait. */
export function statusOfAll(
  invocation: Invocation,
  counting: Promise<ReadonlyMap<string, HubCounts>> = Promise.resolve(new Map()),
): Promise<PersonaStatus[]> {
  return Promise.all(
    personasOfHome(invocation).map(async (identity): Promise<PersonaStatus> => {
      try {
        const status = await invocation.control(identity).status()
        return { ...(await knownOf(invocation, identity, counting)), running: true, status }
      } catch (error) {
        if (!(error instanceof TurnbellError)) throw error
        const problem = toProblem(error, invocation.cli.ids.next())
        return { ...(await knownOf(invocation, identity, counting)), running: false, problem }
      }
    }),
  )
}

/** What is known of a persona without its daemon. */
async function knownOf(
  invocation: Invocation,
  identity: string,
  counting: Promise<ReadonlyMap<string, HubCounts>>,
) {
  const counts = (await counting).get(identity)
  return {
    identity,
    project: projectOf(invocation, identity),
    pending_count: counts?.pending_count ?? null,
    expired_count: counts?.expired_count ?? null,
  }
}

/** The daemon's number of pending signals may be older than the hub's. */
const withHubCount = ({ status, pending_count }: Extract<PersonaStatus, { running: true }>) => ({
  ...status,
  pending_count: pending_count ?? status.pending_count,
})

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
      ? statusRow(withHubCount(one), one.project, clock.now())
      : [
          one.identity,
          one.problem.code === 'daemon_unreachable' ? 'not running' : one.problem.code,
          '',
          String(one.pending_count ?? ''),
        ],
  )
  const [head = '', ...lines] = table(STATUS_HEAD, rows).split('\n')
  return [hubLine(invocation), colors.dim(head), ...lines, ...expiredLines(found)].join('\n')
}
