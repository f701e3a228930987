/**
 * Stops a daemon over its control socket, then waits until its process has ended and its socket is removed, at most
 * `LIMITS.daemon_stop_ms`.
 */
import fs from 'node:fs'
import { TurnbellError } from '../contracts/errors/errors.ts'
import { LIMITS } from '../contracts/limits/limits.ts'
import type { Clock } from '../ports/clock.ts'
import { pause } from '../ports/pause.ts'
import { isNamedPipe } from '../system/ipc/unix-socket.ts'
import { lockHolder } from '../system/files/owner-lock.ts'
import type { PersonaPaths } from '../system/config/home.ts'
import { processAlive, readPidFile } from '../system/process/process-info.ts'
import type { ControlClient } from './control-client.ts'

const POLL_MS = 25

export interface Stopped {
  identity: string
  pid: number
  socket_gone: boolean
  process_gone: boolean
  waited_ms: number
}

interface DaemonAccess {
  cli: { clock: Clock }
  paths(identity: string): PersonaPaths
  control(identity: string): ControlClient
}

/** Throws `daemon_unreachable` if no daemon runs, and `timed_out` with the process or socket that remains. */
export async function stopDaemon(access: DaemonAccess, identity: string): Promise<Stopped> {
  const stopped = await stopDaemonIfAny(access, identity, await daemonPid(access, identity))
  if (stopped !== null) return stopped
  throw new TurnbellError('daemon_unreachable', {
    detail: `No daemon of ${identity} runs in this home.`,
    hint: `Start it with \`turnbell daemon --persona ${identity}\` or \`turnbell up\`.`,
  })
}

/** Like `stopDaemon`, for a daemon that may already be stopping. Returns null if none runs. */
export async function stopDaemonIfAny(
  access: DaemonAccess,
  identity: string,
  pid: number | null,
): Promise<Stopped | null> {
  if (pid === null) return null
  try {
    await access.control(identity).shutdown()
  } catch (error) {
    // The hub may have stopped it already, or it hangs. Either way its process is waited for.
    if (!isSilence(error)) throw error
  }
  return waitUntilGone(access, identity, pid)
}

/**
 * Returns the pid of a running daemon, also if it does not answer on its socket or has none. The pid file alone proves
 * nothing: after a kill its number may belong to another program.
 */
export async function daemonPid(access: DaemonAccess, identity: string): Promise<number | null> {
  try {
    return (await access.control(identity).status()).pid
  } catch (error) {
    if (!isSilence(error)) throw error
    const { daemon_pid, daemon_lock } = access.paths(identity)
    const pid = readPidFile(daemon_pid)
    return pid !== null && lockHolder(daemon_lock) === pid ? pid : null
  }
}

const SILENCE: readonly string[] = ['daemon_unreachable', 'request_failed', 'timed_out']
/** Returns true if no daemon answered, or one of another version did, which can still be stopped. */
const isSilence = (error: unknown) => error instanceof TurnbellError && SILENCE.includes(error.code)

async function waitUntilGone(access: DaemonAccess, identity: string, pid: number): Promise<Stopped> {
  const { clock } = access.cli
  const { control_socket } = access.paths(identity)
  const started = clock.monotonic()
  for (;;) {
    const process_gone = !processAlive(pid)
    const waited_ms = Math.round(clock.monotonic() - started)
    // After the process has ended, nothing removes a socket that is still there.
    if (process_gone || waited_ms >= LIMITS.daemon_stop_ms) {
      const socket_gone = isNamedPipe(control_socket) ? process_gone : !fs.existsSync(control_socket)
      const stopped = { identity, pid, socket_gone, process_gone, waited_ms }
      if (!process_gone || !socket_gone) throw stillThere(stopped)
      return stopped
    }
    await pause(clock, POLL_MS)
  }
}

function stillThere({ identity, pid, socket_gone, process_gone, waited_ms }: Stopped): TurnbellError {
  const remaining = [
    ...(process_gone ? [] : [`process ${pid}`]),
    ...(socket_gone ? [] : ['the control socket']),
  ].join(' and ')
  return new TurnbellError('timed_out', {
    detail: `The daemon of ${identity} did not stop within ${waited_ms} ms; still there: ${remaining}.`,
    hint: `Read its log; \`turnbell paths --persona ${identity}\` prints the path.`,
  })
}

export function describeStopped(stopped: Stopped): string {
  return `The daemon of ${stopped.identity} (process ${stopped.pid}) has stopped; its socket and process were gone after ${stopped.waited_ms} ms.`
}
