/** `turnbell status`: what the daemons of this home say of themselves. Asks nobody else. */
import fs from 'node:fs'
import path from 'node:path'
import type { Command } from 'commander'
import type { PersonaStatus } from '../../contracts/persona-status.ts'
import { toProblem, TurnbellError } from '../../contracts/errors.ts'
import { Identity } from '../../contracts/ids.ts'
import type { PersonaPaths } from '../../system/home.ts'
import { type Cli, type Invocation, invocationOf, parseIdentity } from '../cli.ts'
import { describeStatus, examples, STATUS_HEAD, statusRow, table } from '../render.ts'

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
      await invocation.out.result(status, () => describeStatus(status))
      return
    }
    const found = await statusOfAll(invocation)
    await invocation.out.result(found, () => describeAll(found, cli))
  })
}

/** A daemon that does not answer may be one that never was. */
const unlessUnknown =
  (invocation: Invocation, persona: string) =>
  (error: unknown): never => {
    const silent = error instanceof TurnbellError && error.code === 'daemon_unreachable'
    if (!silent || personasOfHome(invocation).includes(persona)) throw error
    throw new TurnbellError('daemon_unreachable', {
      detail: `this home has no persona ${persona}, and no daemon of that name runs`,
      hint: '`turnbell status` shows those there are; `turnbell persona add` makes one.',
      cause: error,
    })
  }

/** Side by side: one daemon that does not answer must not make the others wait. */
export function statusOfAll(invocation: Invocation): Promise<PersonaStatus[]> {
  const { ids } = invocation.cli
  return Promise.all(
    personasOfHome(invocation).map(async (identity): Promise<PersonaStatus> => {
      try {
        const status = await invocation.control(identity).status()
        return { identity, running: true, status }
      } catch (error) {
        if (!(error instanceof TurnbellError)) throw error
        return { identity, running: false, problem: toProblem(error, ids.next()) }
      }
    }),
  )
}

/** The configured ones and those whose daemon runs, or was killed and left its pid. */
export function personasOfHome(invocation: Invocation): string[] {
  const { tenant_id, personas } = invocation.config()
  const run = path.join(invocation.home.root, 'run', tenant_id)
  const found = fs.existsSync(run) ? fs.readdirSync(run) : []
  const names = found.filter((name) => Identity.safeParse(name).success && hasTraces(invocation.paths(name)))
  return [...new Set([...Object.keys(personas), ...names])].sort()
}

function hasTraces({ daemon_pid, control_socket }: PersonaPaths): boolean {
  return fs.existsSync(daemon_pid) || fs.existsSync(control_socket)
}

function describeAll(found: readonly PersonaStatus[], { colors }: Cli): string {
  if (found.length === 0) {
    return 'No personas yet. Make one: turnbell persona add NAME --surface claude-code'
  }
  const rows = found.map((one) =>
    one.running
      ? statusRow(one.status)
      : [one.identity, one.problem.code === 'daemon_unreachable' ? 'not running' : one.problem.code],
  )
  const [head = '', ...lines] = table(STATUS_HEAD, rows).split('\n')
  return [colors.dim(head), ...lines].join('\n')
}
