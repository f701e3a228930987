/**
 * A client of one agent that speaks the Agent Client Protocol: says hello, opens a session, prompts.
 *
 * It offers the agent neither files nor terminals. What the agent asks leave for is answered by the handlers.
 */
import { client, RequestError, type AnyMessage, type Stream } from '@agentclientprotocol/sdk'
import { z } from 'zod'
import {
  AUTH_REQUIRED,
  Initialized,
  OpenedSession,
  PermissionRequest,
  PromptAnswer,
  PROTOCOL_VERSION,
  SessionUpdate,
  type PermissionAnswer,
} from './protocol.ts'
import { LIMITS } from '../../src/contracts/limits.ts'
import type { Clock } from '../../src/ports/clock.ts'
import type { Log } from '../../src/ports/log.ts'

/** The agent refused, or did not answer. */
export class AgentError extends Error {
  readonly code: number | null

  /** `code` is JSON-RPC's; null where the agent did not answer at all. */
  constructor(code: number | null, message: string, cause?: unknown) {
    super(message, { cause })
    this.code = code
  }
}

/** The agent ended, or closed its output. */
export class AgentGoneError extends Error {}

/** Waiting does not mend it: somebody has to log in, or to install another version. */
export class AgentUnfitError extends Error {}

/** The agent's standard streams, a message a line. */
export interface AgentPipe {
  write(line: string): void
  /** To be called once, before the first line comes. */
  read(taker: { onLine: (line: string) => void; onEnd: () => void }): void
}

export interface McpServer {
  name: string
  command: string
  args: readonly string[]
}

export interface Agent {
  /** The session that it goes on with, or a new one. */
  readonly session_id: string
  /** Resolves with the reason why the turn stopped, however long it takes. @throws AgentError, AgentGoneError */
  prompt(text: string): Promise<string>
}

export interface AgentHandlers {
  onUpdate: (update: SessionUpdate['update']) => void
  onPermission: (request: PermissionRequest) => PermissionAnswer
}

export interface AgentOptions {
  pipe: AgentPipe
  /** Where it works. */
  cwd: string
  mcp_server: McpServer
  /** The session of an earlier run, null where there is none. */
  earlier: string | null
  version: string
  clock: Pick<Clock, 'after'>
  log: Log
}

/** @throws AgentError, AgentGoneError, AgentUnfitError */
export async function connectAgent(options: AgentOptions, handlers: AgentHandlers): Promise<Agent> {
  const { cwd, clock, log } = options
  const connection = client({ name: 'turnbell' })
    .onNotification('*', ({ method, params }) => {
      const told = method === 'session/update' ? SessionUpdate.safeParse(params) : null
      if (told?.success === true) handlers.onUpdate(told.data.update)
    })
    .onRequest('*', ({ method, params }) => {
      if (method !== 'session/request_permission') throw RequestError.methodNotFound(method)
      const request = PermissionRequest.safeParse(params)
      if (!request.success) throw RequestError.invalidParams(undefined, request.error.message)
      return handlers.onPermission(request.data)
    })
    .connect(messages(options.pipe, log))

  async function ask<T>(method: string, params: object, answer: z.ZodType<T>, patient = false): Promise<T> {
    const abort = new AbortController()
    const patience = patient ? null : clock.after(LIMITS.acp_answer_ms, () => abort.abort())
    const late = new Promise<never>((_resolve, reject) => {
      const detail = `${method} was not answered in ${LIMITS.acp_answer_ms} ms`
      abort.signal.addEventListener('abort', () => reject(new AgentError(null, detail)), { once: true })
    })
    try {
      const answered = answer.safeParse(await Promise.race([connection.agent.request(method, params), late]))
      if (answered.success) return answered.data
      throw new AgentError(null, `${method} was answered in another form: ${answered.error.message}`)
    } catch (error) {
      throw named(method, error)
    } finally {
      patience?.cancel()
    }
  }

  const hello = await ask(
    'initialize',
    {
      protocolVersion: PROTOCOL_VERSION,
      clientCapabilities: { fs: { readTextFile: false, writeTextFile: false }, terminal: false },
      clientInfo: { name: 'turnbell', version: options.version },
    },
    Initialized,
  )
  if (hello.protocolVersion !== PROTOCOL_VERSION) {
    throw new AgentUnfitError(
      `the agent speaks version ${hello.protocolVersion} of the Agent Client Protocol, turnbell version ${PROTOCOL_VERSION}`,
    )
  }
  log.info({ agent: hello.agentInfo ?? null }, 'the agent said hello')
  const place = { cwd, mcpServers: [{ ...options.mcp_server, env: [] }] }

  /** Null where the agent cannot go on with an earlier session, or not with this one. */
  async function goOn(sessionId: string): Promise<string | null> {
    const { loadSession, sessionCapabilities } = hello.agentCapabilities ?? {}
    // Resuming tells nothing of what was said before; loading repeats all of it.
    const resumes = sessionCapabilities?.resume != null
    if (!resumes && loadSession !== true) return null
    try {
      await ask(resumes ? 'session/resume' : 'session/load', { sessionId, ...place }, Anything)
      return sessionId
    } catch (error) {
      const refused = error instanceof AgentError && error.code !== null && error.code !== AUTH_REQUIRED
      if (!refused) throw error
      log.warn({ err: error, session: sessionId }, 'the earlier session is gone; a new one begins')
      return null
    }
  }

  async function open(): Promise<string> {
    const kept = options.earlier === null ? null : await goOn(options.earlier)
    return kept ?? (await ask('session/new', place, OpenedSession)).sessionId
  }

  const session_id = await open().catch((error: unknown) => {
    if (!(error instanceof AgentError) || error.code !== AUTH_REQUIRED) throw error
    const ways = (hello.authMethods ?? []).map(({ name }) => name).join(', ')
    const how = ways === '' ? '' : ` (${ways})`
    throw new AgentUnfitError(`the agent wants a login first: log in with its own program${how}`)
  })

  return {
    session_id,
    async prompt(text) {
      const params = { sessionId: session_id, prompt: [{ type: 'text', text }] }
      return (await ask('session/prompt', params, PromptAnswer, true)).stopReason
    },
  }
}

const Anything = z.unknown()

function named(method: string, error: unknown): Error {
  if (error instanceof AgentError) return error
  if (!(error instanceof RequestError)) return new AgentGoneError('the agent went away', { cause: error })
  const { code, message, data } = error
  const more = data === undefined ? '' : ` ${JSON.stringify(data).slice(0, LIMITS.acp_error_length_max)}`
  return new AgentError(code, `${method}: ${message}${more}`, error)
}

function messages(pipe: AgentPipe, log: Log): Stream {
  let strange = 0
  return {
    readable: new ReadableStream<AnyMessage>({
      start(controller) {
        pipe.read({
          onLine(line) {
            const message = parsed(line)
            if (message !== null) return controller.enqueue(message)
            // Some print a word of welcome; a program that is no agent prints for ever.
            strange += 1
            if (strange > LIMITS.acp_strange_lines_max) return
            const beginning = line.slice(0, LIMITS.acp_error_length_max)
            log.warn({ line: beginning }, 'the agent wrote what is no message of the protocol')
          },
          onEnd: () => controller.close(),
        })
      },
    }),
    writable: new WritableStream<AnyMessage>({ write: (message) => pipe.write(JSON.stringify(message)) }),
  }
}

function parsed(line: string): AnyMessage | null {
  try {
    const value: unknown = JSON.parse(line)
    return typeof value === 'object' && value !== null && 'jsonrpc' in value ? (value as AnyMessage) : null
  } catch {
    return null
  }
}
