/** `turnbell service install|uninstall|status|logs`: hub and daemons as services of this user. */
import type { Command } from 'commander'
import { TurnbellError } from '../../contracts/errors.ts'
import { type Cli, type Invocation, invocationOf, parseIdentity, parseWhole } from '../cli.ts'
import { examples, facts } from '../render.ts'
import { describeLine, parseLine, tail } from '../service/logs.ts'
import {
  install,
  managerOf,
  runningPid,
  runs,
  stateOf,
  uninstall,
  type Uninstalled,
} from '../service/service.ts'
import type { Service } from '../service/unit.ts'

interface Options {
  hub?: boolean
  persona?: string
  print?: boolean
  lines?: number
}

const LINES_DEFAULT = 50

export function registerService(program: Command, cli: Cli): void {
  const group = program
    .command('service')
    .description('hub and daemons as services of this user: systemd, launchd, Windows tasks')
  const verb = (name: string, description: string, lines: [string, string][]) =>
    group
      .command(name)
      .description(description)
      .option('--hub', 'the hub')
      .option('--persona <name>', "this persona's daemon", parseIdentity)
      .addHelpText('after', examples(lines))

  const installing = verb('install', 'start it now and at every login; again after a crash', [
    ['turnbell service install --hub', 'once for this user'],
    ['turnbell service install --persona ada', 'once for each persona'],
    ['turnbell service install --hub --print', 'only show the unit'],
  ]).option('--print', 'only print the file that would be written')
  installing.action((options: Options) => installService(invocationOf(cli, installing), options))

  const uninstalling = verb('uninstall', 'stop it cleanly and take it out again', [
    ['turnbell service uninstall --persona ada', 'leaves no unit, socket or pid file'],
  ])
  uninstalling.action(async (options: Options) => {
    const invocation = invocationOf(cli, uninstalling)
    const manager = managerOf(invocation)
    const result = await uninstall(invocation, manager, manager.unit(serviceOf(options)))
    await invocation.out.result(result, () => [describeUnit(result), describeProcess(result)].join('\n'))
  })

  const asking = verb('status', 'what the service manager says, and whether it answers', [
    ['turnbell service status --hub', ''],
  ])
  asking.action(async (options: Options) => {
    const invocation = invocationOf(cli, asking)
    const manager = managerOf(invocation)
    const state = await stateOf(invocation, manager, manager.unit(serviceOf(options)))
    await invocation.out.result(state, () =>
      [
        `${state.unit}  ${state.installed ? state.state : 'not installed'}`,
        facts([
          ['file', state.file],
          ['at login', state.enabled ? 'starts' : 'does not start'],
          ['process', state.running_pid === null ? 'none' : String(state.running_pid)],
          ...(state.last_exit === null ? [] : [['last exit', String(state.last_exit)] as const]),
        ]),
      ].join('\n'),
    )
  })

  const reading = verb('logs', 'the end of its log', [
    ['turnbell service logs --persona ada --lines 200', ''],
  ]).option('--lines <n>', `how many (${LINES_DEFAULT})`, parseWhole(1, 10_000), LINES_DEFAULT)
  reading.action(async (options: Options) => {
    const invocation = invocationOf(cli, reading)
    const service = serviceOf(options)
    const log = service.kind === 'hub' ? invocation.home.hub_log : invocation.paths(service.identity).log
    const lines = tail(log, options.lines ?? LINES_DEFAULT)
    await invocation.out.result({ log, lines: lines.map(parseLine) }, () =>
      lines.length === 0 ? `Nothing is logged in ${log}.` : lines.map(describeLine).join('\n'),
    )
  })
}

async function installService(invocation: Invocation, options: Options): Promise<void> {
  const { out, cli } = invocation
  const manager = managerOf(invocation)
  const service = serviceOf(options)
  const unit = manager.unit(service)
  if (options.print === true) {
    if (invocation.json) await out.result({ file: unit.file, content: unit.content }, () => '')
    else cli.stdout.write(unit.content)
    return
  }
  if (service.kind === 'persona' && invocation.config().personas[service.identity] === undefined) {
    out.note(
      `${service.identity} is not configured on this machine yet; until \`turnbell persona add ${service.identity}\` its daemon only says so and stops.`,
    )
  }
  const running = manager.isEnabled(unit) ? null : await runningPid(invocation, service)
  if (running !== null && !(await runs(manager, unit, running))) {
    out.note(
      `It runs already, as process ${running} of somebody else. Stop that one and install again; until then the service gives way to it.`,
    )
  }
  await install(invocation, manager, unit)
  const result = { manager: manager.name, unit: unit.name, file: unit.file, installed: true }
  await out.result(result, () =>
    [
      `${unit.name} is installed and started (${unit.file}).`,
      ...(manager.name === 'systemd'
        ? ['To have it run while you are not logged in: loginctl enable-linger']
        : []),
    ].join('\n'),
  )
}

function describeUnit({ unit, was_installed, stopped_pid }: Uninstalled): string {
  if (was_installed) return `${unit} is uninstalled.`
  const was = stopped_pid === null ? 'was not installed' : 'was not enabled, but ran'
  return `${unit} ${was}; nothing of it is left.`
}

function describeProcess({ stopped_pid, left_running_pid }: Uninstalled): string {
  if (left_running_pid !== null) {
    return `Process ${left_running_pid}, which somebody else started, goes on running.`
  }
  return stopped_pid === null ? 'It was not running.' : `Process ${stopped_pid} has stopped.`
}

function serviceOf({ hub = false, persona }: Options): Service {
  if (hub && persona === undefined) return { kind: 'hub' }
  if (!hub && persona !== undefined) return { kind: 'persona', identity: persona }
  throw new TurnbellError('usage_invalid', {
    detail: 'Say which service: either --hub or --persona NAME.',
    hint: 'The hub and every persona are services of their own.',
  })
}
