/**
 * Stops a daemon so that the caller knows it is gone: tells it over the control socket, then waits until
 * its process has ended and its socket is removed, or the time is over.
 */
import fs from 'node:fs'
import { TurnbellError } from '../contracts/errors.ts'
import { LIMITS } from '../contracts/limits.ts'
import type { Clock } from '../ports/clock.ts'
import { pause } from '../ports/pause.ts'
import { isNamedPipe } from '../system/local-socket.ts'
import { lockHolder } from '../system/directory-lock.ts'
import type { PersonaPaths } from '../system/home.ts'
import { processAlive, readPidFile } from '../system/processes.ts'
import type { ControlClient } from './control-client.ts'

const POLL_MS = 25

export interface Stopped {
  identity: string
  pid: number
  socket_gone: boolean
  process_gone: boolean
  waited_ms: number
}

interface Reach {
  cli: { clock: Clock }
  paths(identity: string): PersonaPaths
  control(identity: string): ControlClient
}

/** @throws `daemon_unreachable` where none runs, `timed_out` naming what is still there. */
export async function stopDaemon(reach: Reach, identity: string): Promise<Stopped> {
  const stopped = await stopDaemonIfAny(reach, identity, await daemonPid(reach, identity))
  if (stopped !== null) return stopped
  throw new TurnbellError('daemon_unreachable', {
    detail: `no daemon of ${identity} runs in this home`,
    hint: `Start it with \`turnbell daemon --persona ${identity}\` or \`turnbell up\`.`,
  })
}

/** As `stopDaemon`, for one that somebody else may be stopping at this moment. Null where none runs. */
export async function stopDaemonIfAny(
  reach: Reach,
  identity: string,
  pid: number | null,
): Promise<Stopped | null> {
  if (pid === null) return null
  try {
    await reach.control(identity).shutdown()
  } catch (error) {
    // The hub may have told it already, or it hangs; whether it goes is what is waited for.
    if (!isSilence(error)) throw error
  }
  return waitUntilGone(reach, identity, pid)
}

/**
 * The daemon's process, also of one that has no socket yet or no more, or does not answer on it. What a killed
 * one left proves nothing: its number may be another program's by now.
 */
export async function daemonPid(reach: Reach, identity: string): Promise<number | null> {
  try {
    return (await reach.control(identity).status()).pid
  } catch (error) {
    if (!isSilence(error)) throw error
    const { daemon_pid, daemon_lock } = reach.paths(identity)
    const pid = readPidFile(daemon_pid)
    return pid !== null && lockHolder(daemon_lock) === pid ? pid : null
  }
}

const SILENCE: readonly string[] = ['daemon_unreachable', 'request_failed', 'timed_out']
/** Nobody, or nobody who can be understood: one of another version still knows how to stop. */
const isSilence = (error: unknown) => error instanceof TurnbellError && SILENCE.includes(error.code)

async function waitUntilGone(reach: Reach, identity: string, pid: number): Promise<Stopped> {
  const { clock } = reach.cli
  const { control_socket } = reach.paths(identity)
  const started = clock.monotonic()
  for (;;) {
    const process_gone = !processAlive(pid)
    const waited_ms = Math.round(clock.monotonic() - started)
    // A process that is gone changes nothing any more: a socket that it left stays.
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
  const left = [
    ...(process_gone ? [] : [`process ${pid}`]),
    ...(socket_gone ? [] : ['the control socket']),
  ].join(' and ')
  return new TurnbellError('timed_out', {
    detail: `${identity}'s daemon was told to stop; after ${waited_ms} ms this is still there: ${left}`,
    hint: `Look at its log: \`turnbell paths --persona ${identity}\` names it.`,
  })
}

export function describeStopped(stopped: Stopped): string {
  return `${stopped.identity}'s daemon (process ${stopped.pid}) has stopped; its socket and its process are gone after ${stopped.waited_ms} ms.`
}
