/** What `turnbell service` does, whatever manages services on this machine. */
import fs from 'node:fs'
import path from 'node:path'
import { TurnbellError } from '../../contracts/errors.ts'
import { LIMITS } from '../../contracts/limits.ts'
import { pause } from '../../ports/pause.ts'
import { prepareHome, type Home } from '../../system/home.ts'
import { lockHolder } from '../../system/directory-lock.ts'
import { runningHub, type HubPid } from '../../system/hub-address.ts'
import { processAlive } from '../../system/processes.ts'
import { removeSocket } from '../../system/local-socket.ts'
import { replaceFile } from '../../system/replace-file.ts'
import type { Invocation } from '../cli.ts'
import { daemonPid, stopDaemonIfAny } from '../stop-daemon.ts'
import { launchd } from './launchd.ts'
import { systemd } from './systemd.ts'
import { windowsTasks } from './windows.ts'
import type { Service, ServiceManager, ServiceState, Unit } from './unit.ts'

const POLL_MS = 25

export function managerOf(invocation: Invocation): ServiceManager {
  switch (invocation.cli.platform) {
    case 'linux':
      return systemd(invocation)
    case 'darwin':
      return launchd(invocation, process.getuid?.() ?? 0)
    case 'win32':
      return windowsTasks(invocation)
    default:
      throw new TurnbellError('client_missing', {
        detail: `turnbell knows no service manager on ${invocation.cli.platform}`,
        hint: 'Start `turnbell hub` and `turnbell daemon` from what supervises processes there.',
      })
  }
}

/** Written, enabled, started; or, where the manager refuses, as it was before. */
export async function install(invocation: Invocation, manager: ServiceManager, unit: Unit): Promise<void> {
  prepareHome(invocation.home)
  requireOwn(invocation, manager, unit)
  const before = unitOnDisk(manager, unit)
  const was_enabled = before !== null && manager.isEnabled(unit)
  writeUnit(manager, unit, unit.content)
  try {
    await manager.enable(unit)
  } catch (error) {
    if (before === null) fs.rmSync(unit.file, { force: true })
    else putBack(manager, unit, before)
    // One that starts at every login already goes on doing so; the attempt may have stopped it.
    await (was_enabled ? manager.enable(unit).catch(() => undefined) : manager.disable(unit))
    throw error
  }
}

/** @throws `service_failed` where it cannot be written; then the file is as it was. */
function writeUnit(manager: ServiceManager, unit: Unit, content: string): void {
  try {
    fs.mkdirSync(path.dirname(unit.file), { recursive: true })
    replaceFile(unit.file, manager.encode(content), { flush: true, mode: 0o644 })
  } catch (cause) {
    throw new TurnbellError('service_failed', {
      detail: `${unit.file} cannot be written: ${String(cause)}`,
      hint: 'Make room on its disk, or let this user write there, and install it again.',
      cause,
    })
  }
}

function putBack(manager: ServiceManager, unit: Unit, content: string): void {
  try {
    writeUnit(manager, unit, content)
  } catch {
    // What the manager said is told; the new unit is as good as the old one.
  }
}

/** @throws `already_running` where the services of this user are those of another home. */
function requireOwn(invocation: Invocation, manager: ServiceManager, unit: Unit): void {
  if (!isOfAnotherHome(manager, unit)) return
  throw new TurnbellError('already_running', {
    detail: `${unit.file} belongs to another home than ${invocation.home.root}`,
    hint: 'Use that home, with --home DIR, or uninstall it there first: one user has one set of services.',
  })
}

function isOfAnotherHome(manager: ServiceManager, unit: Unit): boolean {
  const content = unitOnDisk(manager, unit)
  // One that names no home, as half a file that somebody left, is nobody's.
  return content !== null && content.includes('--home') && !content.includes(unit.home)
}

export interface Uninstalled {
  unit: string
  was_installed: boolean
  /** The process that was stopped, as also the manager's of what is not enabled any more; null where none ran. */
  stopped_pid: number | null
  /** One that runs and is no service's, as what `turnbell up` started; null where there is none. */
  left_running_pid: number | null
}

/**
 * First the daemon over its control socket (a hub by SIGTERM, which is its clean stop), so that it says
 * goodbye; then the unit; then what a killed one may have left: sockets and pid file. What is neither enabled nor run by
 * the manager is nobody that this may stop.
 */
export async function uninstall(
  invocation: Invocation,
  manager: ServiceManager,
  unit: Unit,
): Promise<Uninstalled> {
  requireOwn(invocation, manager, unit)
  const was_installed = manager.isEnabled(unit)
  const running = was_installed ? null : await runningPid(invocation, unit.service)
  const is_its_own = was_installed || (await runs(manager, unit, running))
  const stopped_pid = is_its_own ? await stop(invocation, unit.service) : null
  await manager.disable(unit)
  if (manager.sharers(unit).length === 0) fs.rmSync(unit.file, { force: true })
  await manager.forget(unit)
  // The manager may have been starting it once more while it was stopped.
  if (is_its_own) await stop(invocation, unit.service)
  const left_running_pid = is_its_own ? null : await runningPid(invocation, unit.service)
  if (left_running_pid === null) removeLeftovers(invocation, unit.service)
  // What the manager ended without having told that it is its own, as Windows does with a task.
  const has_ended = running !== null && left_running_pid === null && !processAlive(running)
  return {
    unit: unit.name,
    was_installed,
    stopped_pid: stopped_pid ?? (has_ended ? running : null),
    left_running_pid,
  }
}

/** Whether the manager runs that process, as it does after its unit was disabled, or was removed by hand. */
export async function runs(manager: ServiceManager, unit: Unit, pid: number | null): Promise<boolean> {
  return pid !== null && (await manager.state(unit)).pid === pid
}

function stop(invocation: Invocation, service: Service): Promise<number | null> {
  return service.kind === 'hub' ? stopHub(invocation) : stopPersona(invocation, service.identity)
}

async function stopPersona(invocation: Invocation, identity: string): Promise<number | null> {
  const pid = await daemonPid(invocation, identity)
  await stopDaemonIfAny(invocation, identity, pid)
  return pid
}

/** @throws `timed_out` when the hub outlives the time it has for what still runs. */
async function stopHub({ cli, home }: Invocation): Promise<number | null> {
  const hub = ownHub(home)
  if (hub === null) return null
  try {
    process.kill(hub.pid, 'SIGTERM')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
  const deadline = cli.clock.monotonic() + LIMITS.close_grace_ms + LIMITS.control_answer_ms
  while (processAlive(hub.pid)) {
    if (cli.clock.monotonic() > deadline) {
      throw new TurnbellError('timed_out', {
        detail: `the hub (process ${hub.pid}) was told to stop and is still there`,
        hint: `Look at ${home.hub_log}.`,
      })
    }
    await pause(cli.clock, POLL_MS)
  }
  return hub.pid
}

/**
 * The hub of this home that is a process of its own. A file alone proves nothing: the number of one that was
 * killed may be another program's by now. A bridge that stands in is an agent's, and not to be ended.
 */
function ownHub(home: Home): HubPid | null {
  const hub = runningHub(home)
  if (hub === null || hub.stands_in === true) return null
  return lockHolder(home.hub_lock) === hub.pid ? hub : null
}

/** Only what nobody can hold any more: a running process was stopped above, or the command has failed. */
function removeLeftovers(invocation: Invocation, service: Service): void {
  if (service.kind === 'hub') {
    // A bridge that stands in needs its own.
    if (runningHub(invocation.home) === null) fs.rmSync(invocation.home.hub_pid, { force: true })
    return
  }
  const paths = invocation.paths(service.identity)
  for (const socket of [paths.control_socket, paths.surface_socket]) removeSocket(socket)
  fs.rmSync(paths.daemon_pid, { force: true })
}

/** What the manager says, and whether the process itself answers. */
export async function stateOf(
  invocation: Invocation,
  manager: ServiceManager,
  unit: Unit,
): Promise<ServiceState & { running_pid: number | null }> {
  const running_pid = await runningPid(invocation, unit.service)
  const state = await manager.state(unit)
  if (!isOfAnotherHome(manager, unit)) return { ...state, running_pid }
  return { ...state, installed: false, enabled: false, state: 'of another home', pid: null, running_pid }
}

/** Whoever started it. */
export async function runningPid(invocation: Invocation, service: Service): Promise<number | null> {
  return service.kind === 'hub'
    ? (ownHub(invocation.home)?.pid ?? null)
    : daemonPid(invocation, service.identity)
}

/** The text of its file, null where there is none. */
export function unitOnDisk(manager: ServiceManager, unit: Unit): string | null {
  return fs.existsSync(unit.file) ? manager.decode(fs.readFileSync(unit.file)) : null
}
