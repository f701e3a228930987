/**
 * Client of one agent that speaks the Agent Client Protocol: initializes it, opens a session and prompts it.
 *
 * It offers the agent neither files nor terminals. The handlers answer its permission requests.
 */
import * as z from 'zod'
import {
  AUTH_REQUIRED,
  Initialized,
  InitializedOtherwise,
  OpenedSession,
  PermissionRequest,
  PromptAnswer,
  PROTOCOL_VERSION,
  SessionUpdate,
  SupportedVersions,
  VERSION_UNSUPPORTED,
  type PermissionAnswer,
} from './protocol.ts'
import { AgentError, INVALID_PARAMS, METHOD_NOT_FOUND, openWire, type AgentPipe, type Wire } from './wire.ts'
import { LIMITS } from '../../src/contracts/limits/limits.ts'
import type { Clock } from '../../src/ports/clock.ts'
import type { Log } from '../../src/ports/log.ts'

/** The agent cannot be used before a person logs in or installs another version; a retry does not help. */
export class AgentUnusableError extends Error {}

export interface McpServer {
  name: string
  command: string
  args: readonly string[]
}

export interface Agent {
  /** The resumed session, or a new one. */
  readonly session_id: string
  /** Resolves with the turn's stop reason, without a time limit. @throws AgentError, AgentGoneError */
  prompt(text: string): Promise<string>
}

export interface AgentHandlers {
  onUpdate: (update: SessionUpdate['update']) => void
  onPermission: (request: PermissionRequest) => PermissionAnswer
  /** Called before the previous session is requested. */
  onReopening?: () => void
}

export interface AgentOptions {
  pipe: AgentPipe
  /** Working directory of the session. */
  cwd: string
  mcp_server: McpServer
  /** The session of an earlier run; null for a new session. */
  previous_session: string | null
  version: string
  clock: Pick<Clock, 'after'>
  log: Log
}

/** @throws AgentError, AgentGoneError, AgentUnusableError */
export async function connectAgent(options: AgentOptions, handlers: AgentHandlers): Promise<Agent> {
  const wire = openWire(options.pipe, options, {
    onNotification(method, params) {
      const update = method === 'session/update' ? SessionUpdate.safeParse(params) : null
      if (update?.success === true) handlers.onUpdate(update.data.update)
    },
    onRequest(method, params) {
      if (method !== 'session/request_permission') throw new AgentError(METHOD_NOT_FOUND, 'Method not found')
      const request = PermissionRequest.safeParse(params)
      if (!request.success) throw new AgentError(INVALID_PARAMS, request.error.message)
      return handlers.onPermission(request.data)
    },
  })
  const initialized = await initialize(wire, options)
  const session_id = await openSession(wire, initialized, options, handlers).catch((error: unknown) => {
    if (!(error instanceof AgentError) || error.code !== AUTH_REQUIRED) throw error
    const methods = (initialized.authMethods ?? []).map(({ name }) => name).join(', ')
    const how = methods === '' ? '' : ` (${methods})`
    throw new AgentUnusableError(`the agent requires a login; log in with its own program${how}`)
  })
  return {
    session_id,
    async prompt(text) {
      const params = { sessionId: session_id, prompt: [{ type: 'text', text }] }
      return (await wire.call('session/prompt', params, PromptAnswer, null)).stopReason
    },
  }
}

async function initialize(wire: Wire, { version, log }: AgentOptions): Promise<Initialized> {
  const params = {
    protocolVersion: PROTOCOL_VERSION,
    clientCapabilities: { fs: { readTextFile: false, writeTextFile: false }, terminal: false },
    clientInfo: { name: 'turnbell', version },
  }
  const answer = await wire
    .call('initialize', params, z.union([Initialized, InitializedOtherwise]), LIMITS.acp_answer_ms)
    .catch((error: unknown) => {
      throw versionRejected(error) ?? error
    })
  if (!isInitialized(answer)) throw versionMismatch(`version ${answer.protocolVersion}`)
  log.info({ agent: answer.agentInfo ?? null }, 'agent initialized')
  return answer
}

function isInitialized(answer: { protocolVersion: number }): answer is Initialized {
  return answer.protocolVersion === PROTOCOL_VERSION
}

/** An agent that supports only newer versions may reject the request instead of answering with one of them. */
function versionRejected(error: unknown): AgentUnusableError | null {
  if (!(error instanceof AgentError)) return null
  if (error.code === VERSION_UNSUPPORTED) {
    const supported = SupportedVersions.safeParse(error.data).data?.supported ?? []
    if (supported.length === 0) return versionMismatch('another version')
    return versionMismatch(`version${supported.length === 1 ? '' : 's'} ${supported.join(' and ')}`)
  }
  // Other versions require other parameters.
  if (error.code !== INVALID_PARAMS) return null
  return new AgentUnusableError(
    `the agent rejects version ${PROTOCOL_VERSION} of the Agent Client Protocol (${error.message}); ${VERSION_HINT}`,
  )
}

function versionMismatch(spoken: string): AgentUnusableError {
  return new AgentUnusableError(
    `the agent speaks ${spoken} of the Agent Client Protocol, turnbell version ${PROTOCOL_VERSION}; ${VERSION_HINT}`,
  )
}

const VERSION_HINT = `use an agent that also speaks version ${PROTOCOL_VERSION}, or look for a newer turnbell`

async function openSession(
  wire: Wire,
  hello: Initialized,
  options: AgentOptions,
  { onReopening }: AgentHandlers,
): Promise<string> {
  const { cwd, mcp_server, previous_session, log } = options
  const session_params = { cwd, mcpServers: [{ ...mcp_server, env: [] }] }
  const { loadSession, sessionCapabilities } = hello.agentCapabilities ?? {}
  // `session/resume` does not repeat the conversation; `session/load` repeats all of it.
  const resumes = sessionCapabilities?.resume != null
  if (previous_session !== null && (resumes || loadSession === true)) {
    const method = resumes ? 'session/resume' : 'session/load'
    onReopening?.()
    try {
      await wire.call(
        method,
        { sessionId: previous_session, ...session_params },
        z.unknown(),
        LIMITS.acp_answer_ms,
      )
      return previous_session
    } catch (error) {
      const rejected = error instanceof AgentError && error.code !== null && error.code !== AUTH_REQUIRED
      if (!rejected) throw error
      log.warn(
        { err: error, session: previous_session },
        'previous session could not be opened; starting a new one',
      )
    }
  }
  return (await wire.call('session/new', session_params, OpenedSession, LIMITS.acp_answer_ms)).sessionId
}
