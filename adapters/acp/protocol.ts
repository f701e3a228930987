/**
 * The used part of the Agent Client Protocol, version 1. Source: https://agentclientprotocol.com, and the messages
 * that opencode, codex-acp and claude-agent-acp send. Fields that are not listed here may change.
 */
import * as z from 'zod'

export const PROTOCOL_VERSION = 1

/** Error code of an agent that requires a login before it opens a session. */
export const AUTH_REQUIRED = -32_000

/** A capability is present if it is an object, even an empty one. */
const offered = z.looseObject({}).nullish()

/** Error code of an agent that supports no version up to the requested one; version 2 defines it. */
export const VERSION_UNSUPPORTED = -32_022

/** The data of that error: the versions that the agent supports. */
export const SupportedVersions = z.looseObject({ supported: z.array(z.number()) })

export const Initialized = z.looseObject({
  protocolVersion: z.literal(PROTOCOL_VERSION),
  agentCapabilities: z
    .looseObject({
      loadSession: z.boolean().nullish(),
      sessionCapabilities: z.looseObject({ resume: offered }).nullish(),
    })
    .nullish(),
  authMethods: z.array(z.looseObject({ name: z.string() })).nullish(),
  agentInfo: z.looseObject({ name: z.string(), version: z.string().nullish() }).nullish(),
})
export type Initialized = z.infer<typeof Initialized>

/** The answer of an agent that does not support the requested version. Its other fields depend on that version. */
export const InitializedOtherwise = z.looseObject({
  protocolVersion: z.number().refine((version) => version !== PROTOCOL_VERSION),
})

export const OpenedSession = z.looseObject({ sessionId: z.string().min(1) })

/** The reasons include `cancelled` and `refusal`; later versions may add more. */
export const PromptAnswer = z.looseObject({ stopReason: z.string() })

/** A tool call as described in its updates and in its permission request. */
export const ToolCall = z.looseObject({
  toolCallId: z.string(),
  title: z.string().nullish(),
  kind: z.string().nullish(),
  /** The name that the model uses; only some agents send it. */
  name: z.string().nullish(),
  rawInput: z.unknown().optional(),
  _meta: z.looseObject({ claudeCode: z.looseObject({ toolName: z.string().nullish() }).nullish() }).nullish(),
})
export type ToolCall = z.infer<typeof ToolCall>

export const SessionUpdate = z.looseObject({
  sessionId: z.string(),
  update: z.looseObject({ sessionUpdate: z.string() }),
})
export type SessionUpdate = z.infer<typeof SessionUpdate>

/** A permission request. Kinds of options: `allow_once`, `allow_always`, `reject_once` and `reject_always`. */
export const PermissionRequest = z.looseObject({
  sessionId: z.string(),
  toolCall: ToolCall,
  options: z.array(z.looseObject({ optionId: z.string(), kind: z.string() })),
})
export type PermissionRequest = z.infer<typeof PermissionRequest>

export type PermissionAnswer = {
  outcome: { outcome: 'selected'; optionId: string } | { outcome: 'cancelled' }
}
