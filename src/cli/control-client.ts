/**
 * A persona's control socket as a command sees it: one request, one answer, and the connection that
 * tells when the daemon is gone. JSON-RPC 2.0, one message a line.
 */
import net from 'node:net'
import { fromProblem, Problem, TurnbellError } from '../contracts/errors.ts'
import {
  type ControlVerb,
  DaemonStatus,
  NotifyResult,
  ResumeResult,
  RpcResponse,
  ShutdownResult,
} from '../contracts/control.ts'
import { LIMITS } from '../contracts/limits.ts'
import type { Clock } from '../ports/clock.ts'
import type { z } from 'zod'

export interface ControlClient {
  identity: string
  status(): Promise<DaemonStatus>
  notify(): Promise<NotifyResult>
  resume(): Promise<z.output<typeof ResumeResult>>
  /** Resolves once the daemon says that it stops; `stop-daemon.ts` waits until it has. */
  shutdown(): Promise<void>
}

/** @throws `daemon_unreachable` where no daemon listens, `timed_out`, or what the daemon refuses with. */
export function createControlClient(clock: Clock, identity: string, control_socket: string): ControlClient {
  const ask = async <T extends z.ZodType>(verb: ControlVerb, schema: T): Promise<z.output<T>> =>
    schema.parse(await exchange(clock, identity, control_socket, verb))
  return {
    identity,
    status: () => ask('status', DaemonStatus),
    notify: () => ask('notify_surface', NotifyResult),
    resume: () => ask('resume_surface', ResumeResult),
    shutdown: async () => void (await ask('shutdown', ShutdownResult)),
  }
}

async function exchange(
  clock: Clock,
  identity: string,
  socket_path: string,
  method: ControlVerb,
): Promise<unknown> {
  const line = await new Promise<string>((resolve, reject) => {
    const socket = net.connect(socket_path)
    let text = ''
    const timer = clock.after(LIMITS.control_answer_ms, () => {
      socket.destroy()
      reject(
        new TurnbellError('timed_out', {
          detail: `${identity}'s daemon did not answer within ${LIMITS.control_answer_ms} ms`,
        }),
      )
    })
    const fail = (error: TurnbellError) => {
      timer.cancel()
      socket.destroy()
      reject(error)
    }
    socket.setEncoding('utf8')
    socket.on('connect', () =>
      socket.write(`${JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: { identity } })}\n`),
    )
    socket.on('data', (chunk) => {
      text += String(chunk)
      const end = text.indexOf('\n')
      if (end === -1 && text.length <= LIMITS.line_bytes_max) return
      timer.cancel()
      socket.destroy()
      resolve(text.slice(0, end === -1 ? undefined : end))
    })
    socket.on('error', (cause) => fail(refused(identity, socket_path, cause)))
    socket.on('close', () =>
      fail(
        new TurnbellError('daemon_unreachable', {
          detail: `${identity}'s daemon closed the connection without an answer`,
        }),
      ),
    )
  })
  return answerOf(identity, line)
}

function answerOf(identity: string, line: string): unknown {
  const garbled = (cause: unknown) =>
    new TurnbellError('daemon_unreachable', {
      detail: `what listens on ${identity}'s control socket does not answer as a daemon`,
      cause,
    })
  let response: RpcResponse
  try {
    response = RpcResponse.parse(JSON.parse(line))
  } catch (cause) {
    throw garbled(cause)
  }
  if (response.error === undefined) return response.result
  const problem = Problem.safeParse(response.error.data)
  if (problem.success) throw fromProblem(problem.data)
  throw garbled(response.error.message)
}

function refused(identity: string, socket_path: string, cause: NodeJS.ErrnoException): TurnbellError {
  if (cause.code === 'EACCES' || cause.code === 'EPERM') {
    return new TurnbellError('home_not_permitted', {
      detail: `${socket_path} belongs to another user`,
      hint: 'Only the owner of a daemon can talk to it.',
      cause,
    })
  }
  return new TurnbellError('daemon_unreachable', {
    detail: `no daemon of ${identity} listens on ${socket_path} (${cause.code ?? cause.message})`,
    hint: `Start it with \`turnbell daemon --persona ${identity}\` or \`turnbell up\`.`,
    cause,
  })
}
