/** Stops processes that `up` started: cleanly, or by SIGKILL after a timeout. */
import { TurnbellError } from '../../contracts/errors/errors.ts'
import { LIMITS } from '../../contracts/limits/limits.ts'
import type { Invocation } from '../cli.ts'
import { daemonPid } from '../stop-daemon.ts'
import type { Launched } from './launch.ts'

/** Returns false if the daemon had to be killed. */
export async function stopOwnDaemon(
  invocation: Invocation,
  identity: string,
  own: Launched | null,
): Promise<boolean> {
  if (own === null) return true
  try {
    if ((await daemonPid(invocation, identity)) !== null) await invocation.control(identity).shutdown()
    else own.kill('SIGTERM')
  } catch (error) {
    if (!(error instanceof TurnbellError)) throw error
    // SIGTERM also stops a daemon that does not listen on its socket yet, or anymore.
    own.kill('SIGTERM')
  }
  return endsWithin(invocation.cli.clock, own, LIMITS.daemon_stop_ms)
}

/** Returns false if the process had to be killed. */
export async function stopProcess(
  clock: Invocation['cli']['clock'],
  own: Launched | null,
  os_signal: NodeJS.Signals,
  within_ms: number,
): Promise<boolean> {
  if (own === null) return true
  own.kill(os_signal)
  return endsWithin(clock, own, within_ms)
}

async function endsWithin(
  clock: Invocation['cli']['clock'],
  own: Launched,
  within_ms: number,
): Promise<boolean> {
  const timeout = new Promise<'late'>((resolve) => {
    const timer = clock.after(within_ms, () => resolve('late'))
    void own.exited.then(() => timer.cancel())
  })
  if ((await Promise.race([own.exited, timeout])) !== 'late') return true
  own.kill('SIGKILL')
  await own.exited
  return false
}
