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
import type { PersonaPaths } from '../system/home.ts'
import { processAlive } from '../system/processes.ts'
import fs from 'node:fs'
import type { z } from 'zod'

const POLL_MS = 25

export interface ControlClient {
  status(): Promise<DaemonStatus>
  notify(): Promise<NotifyResult>
  resume(): Promise<z.output<typeof ResumeResult>>
  /** Tells the daemon to stop and waits until its socket and its process are gone, or the time is over. */
  shutdown(within_ms?: number): Promise<Stopped>
}

export interface Stopped {
  identity: string
  /** Both gone. */
  stopped: boolean
  pid: number | null
  /** What is gone, as seen at the end. */
  socket_gone: boolean
  process_gone: boolean
  waited_ms: number
}

/** @throws `daemon_unreachable` where no daemon listens, `timed_out`, or what the daemon refuses with. */
export function createControlClient(
  clock: Clock,
  identity: string,
  paths: Pick<PersonaPaths, 'control_socket'>,
): ControlClient {
  const ask = async <T extends z.ZodType>(verb: ControlVerb, schema: T): Promise<z.output<T>> =>
    schema.parse(await exchange(clock, identity, paths.control_socket, verb))
  return {
    status: () => ask('status', DaemonStatus),
    notify: () => ask('notify_surface', NotifyResult),
    resume: () => ask('resume_surface', ResumeResult),
    async shutdown(within_ms = LIMITS.daemon_stop_ms) {
      const started = clock.monotonic()
      const pid = (await ask('status', DaemonStatus)).pid
      await ask('shutdown', ShutdownResult)
      for (;;) {
        const process_gone = !processAlive(pid)
        const waited_ms = Math.round(clock.monotonic() - started)
        // A process that is gone changes nothing any more: what is left of it then stays.
        if (process_gone || waited_ms >= within_ms) {
          const socket_gone = isPipe(paths.control_socket)
            ? process_gone
            : !fs.existsSync(paths.control_socket)
          return { identity, stopped: process_gone && socket_gone, pid, socket_gone, process_gone, waited_ms }
        }
        await new Promise<void>((resolve) => clock.after(POLL_MS, resolve))
      }
    },
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

const isPipe = (socket_path: string) => socket_path.startsWith('\\\\')
