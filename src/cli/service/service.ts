/** `turnbell service` for every service manager: install, uninstall, status. */
import fs from 'node:fs'
import path from 'node:path'
import { TurnbellError } from '../../contracts/errors/errors.ts'
import { LIMITS } from '../../contracts/limits/limits.ts'
import { pause } from '../../ports/pause.ts'
import { prepareHome, type Home } from '../../system/config/home.ts'
import { lockHolder } from '../../system/files/owner-lock.ts'
import { runningHub, type HubPid } from '../../system/config/hub-discovery.ts'
import { processAlive } from '../../system/process/process-info.ts'
import { removeSocket } from '../../system/ipc/unix-socket.ts'
import { writeFileAtomic } from '../../system/files/atomic-write.ts'
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
        detail: `turnbell supports no service manager on ${invocation.cli.platform}.`,
        hint: 'Start `turnbell hub` and `turnbell daemon` from a supervisor of that system.',
      })
  }
}

/** Writes, enables and starts a service. Restores the previous state if the manager refuses. */
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
    else restoreUnit(manager, unit, before)
    // A service that was enabled is enabled again, because the attempt may have stopped it.
    await (was_enabled ? manager.enable(unit).catch(() => undefined) : manager.disable(unit))
    throw error
  }
}

/** Throws `service_failed` if the file cannot be written, and leaves it unchanged. */
function writeUnit(manager: ServiceManager, unit: Unit, content: string): void {
  try {
    fs.mkdirSync(path.dirname(unit.file), { recursive: true })
    writeFileAtomic(unit.file, manager.encode(content), { flush: true, mode: 0o644 })
  } catch (cause) {
    throw new TurnbellError('service_failed', {
      detail: `${unit.file} cannot be written: ${String(cause)}`,
      hint: 'Free space on its disk, or give this user write permission, and install it again.',
      cause,
    })
  }
}

function restoreUnit(manager: ServiceManager, unit: Unit, content: string): void {
  try {
    writeUnit(manager, unit, content)
  } catch {
    // The error of the manager is reported, and the new unit works as well as the old one.
  }
}

/** Throws `already_running` if the services of this user belong to another home. */
function requireOwn(invocation: Invocation, manager: ServiceManager, unit: Unit): void {
  if (!isOfAnotherHome(manager, unit)) return
  throw new TurnbellError('already_running', {
    detail: `${unit.file} belongs to another home than ${invocation.home.root}.`,
    hint: 'Use that home with --home DIR, or uninstall its service first: a user has one set of services.',
  })
}

function isOfAnotherHome(manager: ServiceManager, unit: Unit): boolean {
  const content = unitOnDisk(manager, unit)
  // A file without a home, such as a truncated one, belongs to no home.
  return content !== null && content.includes('--home') && !content.includes(unit.home)
}

export interface Uninstalled {
  unit: string
  was_installed: boolean
  /** The process that was stopped, including one of a disabled service; null if none ran. */
  stopped_pid: number | null
  /** A running process that was not started by the manager, such as that of `turnbell up`; null if there is none. */
  left_running_pid: number | null
}

/**
 * Stops the daemon cleanly over its control socket, or the hub by SIGTERM, then removes the unit, then the sockets and pid
 * file that a killed process leaves. Does not stop a process that is neither enabled nor run by the manager.
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
  // The manager may have restarted it in the meantime.
  if (is_its_own) await stop(invocation, unit.service)
  const left_running_pid = is_its_own ? null : await runningPid(invocation, unit.service)
  if (left_running_pid === null) removeLeftovers(invocation, unit.service)
  // Windows ends the process of a task without reporting it as that of the task.
  const has_ended = running !== null && left_running_pid === null && !processAlive(running)
  return {
    unit: unit.name,
    was_installed,
    stopped_pid: stopped_pid ?? (has_ended ? running : null),
    left_running_pid,
  }
}

/** Returns true if the manager runs that process, also after its unit was disabled or removed by hand. */
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

/** Throws `timed_out` if the hub does not end within its grace period. */
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
        detail: `The hub (process ${hub.pid}) did not stop after SIGTERM.`,
        hint: `Read ${home.hub_log}.`,
      })
    }
    await pause(cli.clock, POLL_MS)
  }
  return hub.pid
}

/**
 * Returns the hub of this home if it is a process of its own. The pid file alone proves nothing, because after a kill its
 * number may belong to another program. A bridge with an embedded hub belongs to an agent and must not be stopped.
 */
function ownHub(home: Home): HubPid | null {
  const hub = runningHub(home)
  if (hub === null || hub.stands_in === true) return null
  return lockHolder(home.hub_lock) === hub.pid ? hub : null
}

/** Called only after the process has ended. */
function removeLeftovers(invocation: Invocation, service: Service): void {
  if (service.kind === 'hub') {
    // A bridge with an embedded hub needs its pid file.
    if (runningHub(invocation.home) === null) fs.rmSync(invocation.home.hub_pid, { force: true })
    return
  }
  const paths = invocation.paths(service.identity)
  for (const socket of [paths.control_socket, paths.surface_socket]) removeSocket(socket)
  fs.rmSync(paths.daemon_pid, { force: true })
}

/** Returns the state at the manager, and the pid of the running process. */
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

/** Returns the pid of the running process, however it was started. */
export async function runningPid(invocation: Invocation, service: Service): Promise<number | null> {
  return service.kind === 'hub'
    ? (ownHub(invocation.home)?.pid ?? null)
    : daemonPid(invocation, service.identity)
}

/** Returns the text of the unit's file; null if it does not exist. */
export function unitOnDisk(manager: ServiceManager, unit: Unit): string | null {
  return fs.existsSync(unit.file) ? manager.decode(fs.readFileSync(unit.file)) : null
}
