/**
 * A client of one agent that speaks the Agent Client Protocol: says hello, opens a session, prompts.
 *
 * It offers the agent neither files nor terminals. What the agent asks leave for is answered by the handlers.
 */
import * as z from 'zod'
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
import { AgentError, INVALID_PARAMS, METHOD_NOT_FOUND, openWire, type AgentPipe, type Wire } from './wire.ts'
import { LIMITS } from '../../src/contracts/limits.ts'
import type { Clock } from '../../src/ports/clock.ts'
import type { Log } from '../../src/ports/log.ts'

/** Waiting does not mend it: somebody has to log in, or to install another version. */
export class AgentUnfitError extends Error {}

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
  /** It is asked for the earlier session. */
  onReopening?: () => void
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
  const wire = openWire(options.pipe, options, {
    onNotification(method, params) {
      const told = method === 'session/update' ? SessionUpdate.safeParse(params) : null
      if (told?.success === true) handlers.onUpdate(told.data.update)
    },
    onRequest(method, params) {
      if (method !== 'session/request_permission') throw new AgentError(METHOD_NOT_FOUND, 'Method not found')
      const request = PermissionRequest.safeParse(params)
      if (!request.success) throw new AgentError(INVALID_PARAMS, request.error.message)
      return handlers.onPermission(request.data)
    },
  })
  const hello = await greet(wire, options)
  const session_id = await openSession(wire, hello, options, handlers).catch((error: unknown) => {
    if (!(error instanceof AgentError) || error.code !== AUTH_REQUIRED) throw error
    const ways = (hello.authMethods ?? []).map(({ name }) => name).join(', ')
    const how = ways === '' ? '' : ` (${ways})`
    throw new AgentUnfitError(`it wants a login first; log in with its own program${how}`)
  })
  return {
    session_id,
    async prompt(text) {
      const params = { sessionId: session_id, prompt: [{ type: 'text', text }] }
      return (await wire.ask('session/prompt', params, PromptAnswer, null)).stopReason
    },
  }
}

async function greet(wire: Wire, { version, log }: AgentOptions): Promise<Initialized> {
  const introduction = {
    protocolVersion: PROTOCOL_VERSION,
    clientCapabilities: { fs: { readTextFile: false, writeTextFile: false }, terminal: false },
    clientInfo: { name: 'turnbell', version },
  }
  const hello = await wire.ask('initialize', introduction, Initialized, LIMITS.acp_answer_ms)
  log.info({ agent: hello.agentInfo ?? null }, 'the agent said hello')
  if (hello.protocolVersion === PROTOCOL_VERSION) return hello
  const spoken = `it speaks version ${hello.protocolVersion} of the Agent Client Protocol`
  throw new AgentUnfitError(`${spoken}, turnbell version ${PROTOCOL_VERSION}`)
}

async function openSession(
  wire: Wire,
  hello: Initialized,
  options: AgentOptions,
  { onReopening }: AgentHandlers,
): Promise<string> {
  const { cwd, mcp_server, earlier, log } = options
  const place = { cwd, mcpServers: [{ ...mcp_server, env: [] }] }
  const { loadSession, sessionCapabilities } = hello.agentCapabilities ?? {}
  // Resuming tells nothing of what was said before; loading repeats all of it.
  const resumes = sessionCapabilities?.resume != null
  if (earlier !== null && (resumes || loadSession === true)) {
    const method = resumes ? 'session/resume' : 'session/load'
    onReopening?.()
    try {
      await wire.ask(method, { sessionId: earlier, ...place }, z.unknown(), LIMITS.acp_answer_ms)
      return earlier
    } catch (error) {
      const refused = error instanceof AgentError && error.code !== null && error.code !== AUTH_REQUIRED
      if (!refused) throw error
      log.warn({ err: error, session: earlier }, 'the earlier session is gone; a new one begins')
    }
  }
  return (await wire.ask('session/new', place, OpenedSession, LIMITS.acp_answer_ms)).sessionId
}
