/** Client of a persona's control socket: four verbs, each with a connection of its own. */
import type { z } from 'zod'
import {
  type ControlVerb,
  DaemonStatus,
  NotifyResult,
  ResumeResult,
  ShutdownResult,
} from '../contracts/control.ts'
import { TurnbellError } from '../contracts/errors/errors.ts'
import { LIMITS } from '../contracts/limits/limits.ts'
import type { PersonaPaths } from '../system/config/home.ts'
import { connectLocally } from '../system/ipc/unix-socket.ts'

export interface ControlClient {
  identity: string
  status(timeout_ms?: number): Promise<DaemonStatus>
  notify(): Promise<NotifyResult>
  resume(): Promise<z.output<typeof ResumeResult>>
  /** Resolves once the daemon confirms that it is stopping. `stop-daemon.ts` waits for its end. */
  shutdown(): Promise<void>
}

/**
 * Throws `daemon_unreachable` if no daemon listens, `request_failed` if the answer has another version's form,
 * `timed_out`, or the daemon's own refusal.
 */
export function createControlClient(
  identity: string,
  paths: Pick<PersonaPaths, 'control_socket' | 'run_dir'>,
): ControlClient {
  const ask = async <T extends z.ZodType>(
    verb: ControlVerb,
    schema: T,
    timeout_ms: number = LIMITS.control_answer_ms,
  ): Promise<z.output<T>> => {
    const parsed = schema.safeParse(await exchange(identity, paths, verb, timeout_ms))
    if (parsed.success) return parsed.data
    throw new TurnbellError('request_failed', {
      detail: `The daemon of ${identity} returned an answer that this version of turnbell does not understand.`,
      hint: `Restart it with the installed version: \`turnbell shutdown --persona ${identity}\`.`,
      cause: parsed.error,
    })
  }
  return {
    identity,
    status: (timeout_ms) => ask('status', DaemonStatus, timeout_ms),
    notify: () => ask('notify_surface', NotifyResult),
    resume: () => ask('resume_surface', ResumeResult),
    shutdown: async () => void (await ask('shutdown', ShutdownResult)),
  }
}

async function exchange(
  identity: string,
  { control_socket, run_dir }: Pick<PersonaPaths, 'control_socket' | 'run_dir'>,
  verb: ControlVerb,
  timeout_ms: number,
): Promise<unknown> {
  const peer = await connectLocally(control_socket, {}, run_dir).catch((error: unknown) => {
    throw refused(identity, control_socket, error)
  })
  try {
    return await peer.request(verb, { identity }, timeout_ms)
  } finally {
    peer.close()
  }
}

function refused(identity: string, control_socket: string, error: unknown): unknown {
  if (!(error instanceof TurnbellError) || error.cause === undefined) return error
  const cause = error.cause as NodeJS.ErrnoException
  if (cause.code === 'EACCES' || cause.code === 'EPERM') {
    return new TurnbellError('home_not_permitted', {
      detail: `${control_socket} belongs to another user.`,
      hint: 'Run the command as the user who owns the daemon.',
      cause,
    })
  }
  return new TurnbellError('daemon_unreachable', {
    detail: `No daemon of ${identity} listens on ${control_socket} (${cause.code ?? cause.message}).`,
    hint: `Start it with \`turnbell daemon --persona ${identity}\` or \`turnbell up\`.`,
    cause,
  })
}

/** Returns true if the daemon answers. `status` and `doctor` report its other problems. */
export async function daemonRuns(control: ControlClient): Promise<boolean> {
  return control.status().then(
    () => true,
    () => false,
  )
}
