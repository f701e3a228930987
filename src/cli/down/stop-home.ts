/** Stops the daemons of a home, then its hub, and waits until they have ended. */
import { TurnbellError } from '../../contracts/errors/errors.ts'
import { LIMITS } from '../../contracts/limits/limits.ts'
import { pause } from '../../ports/pause.ts'
import { lockHolder } from '../../system/files/owner-lock.ts'
import { runningHub, type HubPid } from '../../system/config/hub-discovery.ts'
import { processAlive } from '../../system/process/process-info.ts'
import type { Cli, Invocation } from '../cli.ts'
import { personasOfHome } from '../personas/of-home.ts'
import { daemonPid, stopDaemonIfAny, type Stopped } from '../stop-daemon.ts'

export interface StoppedHome {
  /** Daemons that were running and have ended. */
  daemons: Stopped[]
  /** The hub that was running and has ended; null if none ran or it was kept. */
  hub: { pid: number; waited_ms: number } | null
  /** Process of an embedded hub, which is not stopped because it ends with its agent's client. Part of the JSON output. */
  stand_in_pid: number | null
  /** Processes that did not end, with the reason. `name` is a persona or `hub`. */
  failed: { name: string; detail: string }[]
}

const POLL_MS = 25

/** Does not throw for a process that does not end. It is reported in `failed`. */
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
  const embedded = hub?.stands_in === true
  return {
    daemons: daemons.filter((stopped) => stopped !== null),
    hub: hub === null || embedded ? null : await attempt('hub', () => stopHub(invocation, hub)),
    stand_in_pid: embedded ? hub.pid : null,
    failed,
  }
}

/** Waits for a starting hub that holds the lock but has not published its address. */
async function runningOrStarting({ cli, home }: Invocation): Promise<HubPid | null> {
  const deadline = cli.clock.monotonic() + LIMITS.process_start_ms
  for (;;) {
    const hub = runningHub(home)
    if (hub !== null || lockHolder(home.hub_lock) === null || cli.clock.monotonic() >= deadline) return hub
    await pause(cli.clock, POLL_MS)
  }
}

function stopHub(invocation: Invocation, { pid }: HubPid): Promise<{ pid: number; waited_ms: number }> {
  return endProcess(invocation.cli, pid, `Read its log: ${invocation.home.hub_log}`)
}

/**
 * Sends SIGTERM and waits until the process has ended. Throws `timed_out` if it does not end, and `home_not_permitted` if
 * the process belongs to another user.
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
        detail: `Process ${pid} did not end within ${waited()} ms after SIGTERM.`,
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
    // The process has ended already.
    if ((cause as NodeJS.ErrnoException).code === 'ESRCH') return
    throw new TurnbellError('home_not_permitted', {
      detail: `Process ${pid} belongs to another user.`,
      cause,
    })
  }
}
