/**
 * A client of the Codex app-server: JSON-RPC over WebSocket over a Unix socket.
 *
 * What the server asks of its clients (approvals, questions) is a person's to answer, and the first answer
 * wins: without an `answer` of its own this client is silent.
 */
import net from 'node:net'
import { WebSocket } from 'ws'
import * as z from 'zod'
import { Notification, ServerRequest } from './protocol.ts'
import { LIMITS } from '../../src/contracts/limits.ts'
import type { Clock } from '../../src/ports/clock.ts'
import type { Log } from '../../src/ports/log.ts'
import { jsonIn } from '../../src/contracts/json.ts'

/** JSON-RPC 2.0, section 5.1; also what a thread is refused with that is not loaded. */
export const INVALID_REQUEST = -32_600
/** The app-server's own: it has more to do than it takes on. */
export const OVERLOADED = -32_001

export class AppServerError extends Error {
  readonly code: number | null

  /** `code` is JSON-RPC's; null where the server did not answer, or in another form. */
  constructor(code: number | null, message: string) {
    super(message)
    this.code = code
  }
}

/** The server speaks another version of its protocol. */
export class AppServerFormError extends AppServerError {
  constructor(message: string) {
    super(null, message)
  }
}

export interface AppServer {
  /** What the server says it is: its name, version and system. */
  user_agent: string
  /** @throws AppServerError */
  call<T>(method: string, params: object, answer: z.ZodType<T>, patience_ms?: number): Promise<T>
  close(): void
}

export interface AppServerHandlers {
  onNotification: (notification: Notification) => void
  onClose: () => void
  /** Null leaves the question to others. */
  answer?: (request: ServerRequest, server: Pick<AppServer, 'call'>) => Promise<object | null>
}

const Introduced = z.looseObject({ userAgent: z.string().default('') })

const Message = z.looseObject({
  id: z.union([z.number(), z.string()]).optional(),
  method: z.string().optional(),
  result: z.unknown().optional(),
  error: z.looseObject({ code: z.number(), message: z.string() }).optional(),
})

/** Connects and introduces itself. Rejects where no app-server listens. */
export async function connectAppServer(
  socket_path: string,
  options: { version: string; clock: Pick<Clock, 'after'>; log: Log },
  handlers: AppServerHandlers,
): Promise<AppServer> {
  const { clock, log } = options
  const waiting = new Map<number, { resolve: (result: unknown) => void; reject: (error: Error) => void }>()
  let next_id = 1
  const socket = await open(socket_path, clock)

  const isOpen = () => socket.readyState === WebSocket.OPEN

  function request(method: string, params: object, patience_ms: number): Promise<unknown> {
    const id = next_id++
    return new Promise((resolve, reject) => {
      const timeout = clock.after(patience_ms, () => {
        waiting.delete(id)
        reject(new AppServerError(null, `${method} was not answered`))
      })
      const settle =
        <A>(then: (value: A) => void) =>
        (value: A) => {
          timeout.cancel()
          waiting.delete(id)
          then(value)
        }
      waiting.set(id, { resolve: settle(resolve), reject: settle(reject) })
      socket.send(JSON.stringify({ id, method, params }))
    })
  }

  function received(text: string): void {
    const message = Message.safeParse(jsonIn(text))
    if (!message.success) return log.warn({}, 'the app-server sent what is no message')
    const { id, method, result, error } = message.data
    if (method !== undefined && id !== undefined) return void asked(message.data)
    if (method !== undefined) {
      const notification = Notification.safeParse(message.data)
      if (notification.success) handlers.onNotification(notification.data)
      return
    }
    const call = typeof id === 'number' ? waiting.get(id) : undefined
    if (error === undefined) call?.resolve(result)
    else call?.reject(new AppServerError(error.code, error.message))
  }

  async function asked(message: object, time: 'first' | 'again' = 'first'): Promise<void> {
    const request = ServerRequest.safeParse(message)
    if (!request.success || handlers.answer === undefined) return
    const { id, method } = request.data
    try {
      const result = await handlers.answer(request.data, { call })
      if (result !== null) socket.send(JSON.stringify({ id, result }))
    } catch (error) {
      // Nobody is there to be answered.
      if (!isOpen()) return
      const passes = mayPass(error)
      const words = passes ? 'it is tried again' : 'it waits for a person'
      log[passes && time === 'again' ? 'debug' : 'warn'](
        { err: error, method },
        `what the app-server asked could not be answered; ${words}`,
      )
      // A turn that waits for an answer waits for ever.
      if (passes)
        clock.after(LIMITS.codex_seek_again_ms, () => {
          if (isOpen()) void asked(message, 'again')
        })
    }
  }

  async function call<T>(
    method: string,
    params: object,
    answer: z.ZodType<T>,
    patience_ms: number = LIMITS.codex_answer_ms,
  ): Promise<T> {
    const parsed_answer = answer.safeParse(await request(method, params, patience_ms))
    if (parsed_answer.success) return parsed_answer.data
    throw new AppServerFormError(`${method} was answered in another form: ${parsed_answer.error.message}`)
  }

  async function introduce(): Promise<string> {
    const introduction = {
      clientInfo: { name: 'turnbell', title: 'turnbell', version: options.version },
      // The queue of a thread is behind it.
      capabilities: { experimentalApi: true },
    }
    const { userAgent } = await call('initialize', introduction, Introduced)
    socket.send(JSON.stringify({ method: 'initialized' }))
    return userAgent
  }

  socket.on('message', (data: Buffer) => received(data.toString()))
  socket.on('error', (error) => log.debug({ err: error }, 'the link to the app-server broke'))
  socket.on('close', () => {
    for (const { reject } of waiting.values()) reject(new AppServerError(null, 'the app-server went away'))
    handlers.onClose()
  })

  try {
    return { user_agent: await introduce(), call, close: () => socket.close() }
  } catch (error) {
    // Nobody else knows of it. One that does not answer would not close it with us either.
    socket.terminate()
    throw error
  }
}

/** Whether the same question may be answered a while later. */
export function mayPass(error: unknown): boolean {
  if (!(error instanceof AppServerError) || error instanceof AppServerFormError) return false
  return error.code === null || error.code === OVERLOADED
}

function open(socket_path: string, clock: Pick<Clock, 'after'>): Promise<WebSocket> {
  const socket = new WebSocket('ws://localhost/', {
    // Within a URL a space, a colon or a letter beyond ASCII would make it another path.
    createConnection: () => net.connect(socket_path),
    perMessageDeflate: false,
    maxPayload: LIMITS.codex_message_bytes_max,
  })
  return new Promise((resolve, reject) => {
    const patience = clock.after(LIMITS.codex_answer_ms, () => socket.terminate())
    socket.once('open', () => {
      patience.cancel()
      resolve(socket)
    })
    socket.once('error', (error) => {
      patience.cancel()
      reject(error)
    })
  })
}
