/** `turnbell status`: the daemons of this home, and the hub's counts of pending and expired signals. */
import fs from 'node:fs'
import type { Command } from 'commander'
import * as z from 'zod'
import { LIMITS } from '../../contracts/limits/limits.ts'
import type { PersonaStatus } from '../../contracts/persona-status.ts'
import { toProblem, TurnbellError } from '../../contracts/errors/errors.ts'
import { findHub, runningHub } from '../../system/config/hub-discovery.ts'
import { isStopped } from '../../system/process/process-info.ts'
import { type Cli, type Invocation, invocationOf, parseIdentity } from '../cli.ts'
import { unlessUnknown } from '../personas/known.ts'
import { personasOfHome } from '../personas/of-home.ts'
import { presenceLines } from '../presence-lines.ts'
import { count, describeStatus, duration, examples, STATUS_HEAD, statusRow, table } from '../render.ts'

export function registerStatus(program: Command, cli: Cli): void {
  const command = program
    .command('status')
    .description('show the status of the hub and daemons of this home')
    .option('--persona <name>', 'only this persona, in detail', parseIdentity)
    .addHelpText(
      'after',
      examples([
        ['turnbell status', 'all personas of this home'],
        ['turnbell status --persona ada --json', 'one persona, for programs'],
      ]),
    )
  command.action(async ({ persona }: { persona?: string }) => {
    const invocation = invocationOf(cli, command)
    const counting = countsAtHub(invocation)
    warnOfSilence(invocation)
    if (persona !== undefined) return printOne(invocation, persona, counting)
    const personas = await statusOfAll(invocation, counting)
    await invocation.out.result(personas, () => describeAll(invocation, personas))
  })
}

/** Prints the daemon's own status. If no daemon runs, the error contains the number of pending signals at the hub. */
async function printOne(
  invocation: Invocation,
  identity: string,
  counting: Promise<ReadonlyMap<string, HubCounts>>,
): Promise<void> {
  const { out, cli, control } = invocation
  const request = control(identity).status().catch(unlessUnknown(invocation, identity))
  const status = await request.catch(async (error: unknown) => {
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
  const counted = withHubCount({ ...known, running: true, status })
  const now_ms = cli.clock.now()
  await out.result(status, () =>
    [
      hubLine(invocation),
      describeStatus(counted, known.project, now_ms, presenceLines(status.surface.presence, now_ms)),
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

/** Requests all statuses in parallel, so that a daemon that does not answer delays no other. */
export function statusOfAll(
  invocation: Invocation,
  counting: Promise<ReadonlyMap<string, HubCounts>> = Promise.resolve(new Map()),
  timeout_ms: number = LIMITS.control_answer_ms,
): Promise<PersonaStatus[]> {
  return Promise.all(
    personasOfHome(invocation).map(async (identity): Promise<PersonaStatus> => {
      try {
        const status = await invocation.control(identity).status(timeout_ms)
        return { ...(await knownOf(invocation, identity, counting)), running: true, status }
      } catch (error) {
        if (!(error instanceof TurnbellError)) throw error
        const problem = toProblem(error, invocation.cli.ids.next())
        return { ...(await knownOf(invocation, identity, counting)), running: false, problem }
      }
    }),
  )
}

/** Returns the fields of a persona that need no daemon. */
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

const SUSPENDED = 'it is stopped (SIGSTOP) and does not answer'

/** Prints a note, also with --json, where the hub's counts are missing. */
function warnOfSilence({ home, out }: Invocation): void {
  const hub = runningHub(home)
  if (hub === null || !isStopped(hub.pid)) return
  out.note(`hub process ${hub.pid}: ${SUSPENDED}. Resume it: kill -CONT ${hub.pid}`)
}

/** Describes the hub that commands of this home call. */
function hubLine(invocation: Invocation): string {
  const { home, cli } = invocation
  const hub = runningHub(home)
  if (hub !== null) {
    const up_s = (cli.clock.now() - Date.parse(hub.started_at)) / 1000
    return `hub ${hub.url}, process ${hub.pid}, up ${duration(up_s)}${isStopped(hub.pid) ? `; ${SUSPENDED}` : ''}`
  }
  const url = findHub(home, invocation.config())
  return url === null ? 'hub not running; start it: turnbell up' : `hub ${url}, of another home`
}

/** Returns a line with the size of the stored activity, or with the reason why nothing is captured. */
function activityLines(invocation: Invocation): string[] {
  const { hub_activity } = invocation.home
  const { capture, retention_days } = invocation.config().activity
  if (capture === 'off') return ['activity not captured (`activity.capture: off`)']
  const bytes = [hub_activity, `${hub_activity}-wal`].reduce(
    (sum, file) => sum + (fs.statSync(file, { throwIfNoEntry: false })?.size ?? 0),
    0,
  )
  if (bytes === 0) return []
  return [`activity ${(bytes / 2 ** 20).toFixed(1)} MiB, kept for ${count(retention_days, 'day')}`]
}

function expiredLines(personas: readonly Pick<PersonaStatus, 'identity' | 'expired_count'>[]): string[] {
  return personas.flatMap(({ identity, expired_count }) =>
    expired_count === null || expired_count === 0
      ? []
      : [
          `${count(expired_count, 'signal')} to ${identity} expired; \`turnbell log --persona ${identity}\` lists them`,
        ],
  )
}

function describeAll(invocation: Invocation, personas: readonly PersonaStatus[]): string {
  const { colors, clock } = invocation.cli
  if (personas.length === 0) {
    const none = 'No personas yet. Add one: turnbell persona add NAME --surface claude-code'
    return [hubLine(invocation), ...activityLines(invocation), none].join('\n')
  }
  const rows = personas.map((persona) =>
    persona.running
      ? statusRow(withHubCount(persona), persona.project, clock.now())
      : [
          persona.identity,
          persona.problem.code === 'daemon_unreachable' ? 'not running' : persona.problem.code,
          '',
          String(persona.pending_count ?? ''),
        ],
  )
  const [head = '', ...lines] = table(STATUS_HEAD, rows).split('\n')
  const first = [hubLine(invocation), ...activityLines(invocation)]
  return [...first, colors.dim(head), ...lines, ...expiredLines(personas)].join('\n')
}
