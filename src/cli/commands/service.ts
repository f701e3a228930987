/** `turnbell service install|uninstall|status|logs`: runs hub and daemons as services of this user. */
import type { Command } from 'commander'
import { TurnbellError } from '../../contracts/errors/errors.ts'
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
    .description('run hub and daemons as services of this user: systemd, launchd, Windows tasks')
  const verb = (name: string, description: string, lines: [string, string][]) =>
    group
      .command(name)
      .description(description)
      .option('--hub', 'the service of the hub')
      .option('--persona <name>', "the service of this persona's daemon", parseIdentity)
      .addHelpText('after', examples(lines))

  const installing = verb('install', 'start it now, at every login, and again after a crash', [
    ['turnbell service install --hub', 'once per user'],
    ['turnbell service install --persona ada', 'once per persona'],
    ['turnbell service install --hub --print', 'only print the unit'],
  ]).option('--print', 'only print the file that would be written')
  installing.action((options: Options) => installService(invocationOf(cli, installing), options))

  const uninstalling = verb('uninstall', 'stop it cleanly and remove it', [
    ['turnbell service uninstall --persona ada', 'leaves no unit, socket or pid file'],
  ])
  uninstalling.action(async (options: Options) => {
    const invocation = invocationOf(cli, uninstalling)
    const manager = managerOf(invocation)
    const result = await uninstall(invocation, manager, manager.unit(serviceOf(options)))
    await invocation.out.result(result, () => [describeUnit(result), describeProcess(result)].join('\n'))
  })

  const showing = verb('status', 'show the state at the service manager, and the process', [
    ['turnbell service status --hub', ''],
  ])
  showing.action(async (options: Options) => {
    const invocation = invocationOf(cli, showing)
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

  const reading = verb('logs', 'print the end of its log', [
    ['turnbell service logs --persona ada --lines 200', ''],
  ]).option('--lines <n>', `number of lines (${LINES_DEFAULT})`, parseWhole(1, 10_000), LINES_DEFAULT)
  reading.action(async (options: Options) => {
    const invocation = invocationOf(cli, reading)
    const service = serviceOf(options)
    const log = service.kind === 'hub' ? invocation.home.hub_log : invocation.paths(service.identity).log
    const lines = tail(log, options.lines ?? LINES_DEFAULT)
    await invocation.out.result({ log, lines: lines.map(parseLine) }, () =>
      lines.length === 0 ? `${log} is empty.` : lines.map(describeLine).join('\n'),
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
      `${service.identity} is not configured on this machine, so its daemon will stop at once. Add it with \`turnbell persona add ${service.identity}\`.`,
    )
  }
  const running = manager.isEnabled(unit) ? null : await runningPid(invocation, service)
  if (running !== null && !(await runs(manager, unit, running))) {
    out.note(
      `Process ${running} already runs it and was started elsewhere. Stop that process and install again; until then the service does not run.`,
    )
  }
  await install(invocation, manager, unit)
  const result = { manager: manager.name, unit: unit.name, file: unit.file, installed: true }
  await out.result(result, () =>
    [
      `${unit.name} is installed and started (${unit.file}).`,
      ...(manager.name === 'systemd'
        ? ['To keep it running while you are not logged in: loginctl enable-linger']
        : []),
    ].join('\n'),
  )
}

function describeUnit({ unit, was_installed, stopped_pid }: Uninstalled): string {
  if (was_installed) return `${unit} is uninstalled.`
  const before = stopped_pid === null ? 'was not installed' : 'was not enabled, but was running'
  return `${unit} ${before}; all of its files are removed.`
}

function describeProcess({ stopped_pid, left_running_pid }: Uninstalled): string {
  if (left_running_pid !== null) {
    return `Process ${left_running_pid} was started elsewhere and keeps running.`
  }
  return stopped_pid === null ? 'It was not running.' : `Process ${stopped_pid} has stopped.`
}

function serviceOf({ hub = false, persona }: Options): Service {
  if (hub && persona === undefined) return { kind: 'hub' }
  if (!hub && persona !== undefined) return { kind: 'persona', identity: persona }
  throw new TurnbellError('usage_invalid', {
    detail: 'Exactly one of --hub and --persona is required.',
    hint: 'Use --hub or --persona NAME; the hub and each persona have a service of their own.',
  })
}
