/** Stops the daemons of a home, then its hub, and waits until they are gone. */
import { TurnbellError } from '../../contracts/errors.ts'
import { LIMITS } from '../../contracts/limits.ts'
import { pause } from '../../ports/pause.ts'
import { lockHolder } from '../../system/directory-lock.ts'
import { runningHub, type HubPid } from '../../system/hub-address.ts'
import { processAlive } from '../../system/processes.ts'
import type { Cli, Invocation } from '../cli.ts'
import { personasOfHome } from '../personas/of-home.ts'
import { daemonPid, stopDaemonIfAny, type Stopped } from '../stop-daemon.ts'

export interface StoppedHome {
  /** Daemons that ran and have ended. */
  daemons: Stopped[]
  /** The hub that ran and has ended; null where none ran or it was to be kept. */
  hub: { pid: number; waited_ms: number } | null
  /** A bridge that is the hub until another one runs: it ends with its agent's client and is not stopped. */
  stand_in_pid: number | null
  /** What did not end, with the reason. `name` is a persona or `hub`. */
  failed: { name: string; detail: string }[]
}

const POLL_MS = 25

/** Does not throw for a process that refuses to end: it is in `failed`. */
export async function stopHome(
  invocation: Invocation,
  { keep_hub }: { keep_hub: boolean },
): Promise<StoppedHome> {
  const failed: StoppedHome['failed'] = []
  async function attempt<T>(name: string, stop: () => Promise<T>): Promise<T | null> {
    try {
      return await stop()
    } catch (error) {
      if (!(error instanceof TurnbellError)) throw error
      failed.push({ name, detail: error.detail })
      return null
    }
  }
  const daemons = await Promise.all(
    personasOfHome(invocation).map((identity) =>
      attempt(identity, async () =>
        stopDaemonIfAny(invocation, identity, await daemonPid(invocation, identity)),
      ),
    ),
  )
  const hub = keep_hub ? null : await runningOrStarting(invocation)
  const stands_in = hub?.stands_in === true
  return {
    daemons: daemons.filter((stopped) => stopped !== null),
    hub: hub === null || stands_in ? null : await attempt('hub', () => stopHub(invocation, hub)),
    stand_in_pid: stands_in ? hub.pid : null,
    failed,
  }
}

/** A hub that holds its home and has not written yet where it listens is waited for. */
async function runningOrStarting({ cli, home }: Invocation): Promise<HubPid | null> {
  const deadline = cli.clock.monotonic() + LIMITS.process_start_ms
  for (;;) {
    const hub = runningHub(home)
    if (hub !== null || lockHolder(home.hub_lock) === null || cli.clock.monotonic() >= deadline) return hub
    await pause(cli.clock, POLL_MS)
  }
}

function stopHub(invocation: Invocation, { pid }: HubPid): Promise<{ pid: number; waited_ms: number }> {
  return endProcess(invocation.cli, pid, `Look at its log: ${invocation.home.hub_log}`)
}

/**
 * Sends SIGTERM and waits until the process is gone.
 *
 * @throws `timed_out` where it does not end, `home_not_permitted` where it may not be signalled.
 */
export async function endProcess(
  { clock }: Pick<Cli, 'clock'>,
  pid: number,
  hint: string,
): Promise<{ pid: number; waited_ms: number }> {
  const began = clock.monotonic()
  const waited = () => Math.round(clock.monotonic() - began)
  signal(pid)
  while (processAlive(pid)) {
    if (waited() >= LIMITS.close_grace_ms + LIMITS.control_answer_ms) {
      throw new TurnbellError('timed_out', {
        detail: `process ${pid} was asked to end and still runs after ${waited()} ms`,
        hint,
      })
    }
    await pause(clock, POLL_MS)
  }
  return { pid, waited_ms: waited() }
}

function signal(pid: number): void {
  try {
    process.kill(pid, 'SIGTERM')
  } catch (cause) {
    // It ended in the meantime.
    if ((cause as NodeJS.ErrnoException).code === 'ESRCH') return
    throw new TurnbellError('home_not_permitted', { detail: `process ${pid} may not be signalled`, cause })
  }
}
