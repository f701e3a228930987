/** A persona's control socket as a command sees it: four verbs, a connection for each. */
import type { z } from 'zod'
import {
  type ControlVerb,
  DaemonStatus,
  NotifyResult,
  ResumeResult,
  ShutdownResult,
} from '../contracts/control.ts'
import { TurnbellError } from '../contracts/errors.ts'
import { LIMITS } from '../contracts/limits.ts'
import type { PersonaPaths } from '../system/home.ts'
import { connectLocally } from '../system/local-socket.ts'

export interface ControlClient {
  identity: string
  status(): Promise<DaemonStatus>
  notify(): Promise<NotifyResult>
  resume(): Promise<z.output<typeof ResumeResult>>
  /** Resolves once the daemon says that it stops; `stop-daemon.ts` waits until it has. */
  shutdown(): Promise<void>
}

/**
 * @throws `daemon_unreachable` where no daemon listens, `request_failed` where one of another version answers,
 * `timed_out`, or what the daemon refuses with.
 */
export function createControlClient(
  identity: string,
  paths: Pick<PersonaPaths, 'control_socket' | 'run_dir'>,
): ControlClient {
  const ask = async <T extends z.ZodType>(verb: ControlVerb, schema: T): Promise<z.output<T>> => {
    const parsed = schema.safeParse(await exchange(identity, paths, verb))
    if (parsed.success) return parsed.data
    throw new TurnbellError('request_failed', {
      detail: `${identity}'s daemon answers, but not as this version of turnbell expects`,
      hint: `Restart it with the installed version: \`turnbell shutdown --persona ${identity}\`.`,
      cause: parsed.error,
    })
  }
  return {
    identity,
    status: () => ask('status', DaemonStatus),
    notify: () => ask('notify_surface', NotifyResult),
    resume: () => ask('resume_surface', ResumeResult),
    shutdown: async () => void (await ask('shutdown', ShutdownResult)),
  }
}

async function exchange(
  identity: string,
  { control_socket, run_dir }: Pick<PersonaPaths, 'control_socket' | 'run_dir'>,
  verb: ControlVerb,
): Promise<unknown> {
  const peer = await connectLocally(control_socket, {}, run_dir).catch((error: unknown) => {
    throw refused(identity, control_socket, error)
  })
  try {
    return await peer.request(verb, { identity }, LIMITS.control_answer_ms)
  } finally {
    peer.close()
  }
}

function refused(identity: string, control_socket: string, error: unknown): unknown {
  if (!(error instanceof TurnbellError) || error.cause === undefined) return error
  const cause = error.cause as NodeJS.ErrnoException
  if (cause.code === 'EACCES' || cause.code === 'EPERM') {
    return new TurnbellError('home_not_permitted', {
      detail: `${control_socket} belongs to another user`,
      hint: 'Only the owner of a daemon can talk to it.',
      cause,
    })
  }
  return new TurnbellError('daemon_unreachable', {
    detail: `no daemon of ${identity} listens on ${control_socket} (${cause.code ?? cause.message})`,
    hint: `Start it with \`turnbell daemon --persona ${identity}\` or \`turnbell up\`.`,
    cause,
  })
}

/** Whether a daemon answers; what else may be wrong with it is for `status` and `doctor` to say. */
export async function daemonRuns(control: ControlClient): Promise<boolean> {
  return control.status().then(
    () => true,
    () => false,
  )
}
