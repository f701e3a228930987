/**
 * What a doorbell needs of the Agent Client Protocol, version 1. Source: https://agentclientprotocol.com, and
 * what opencode, codex-acp and claude-agent-acp really send. Whatever is not read here may change.
 */
import * as z from 'zod'

export const PROTOCOL_VERSION = 1

/** An agent that wants a login before it opens a session. */
export const AUTH_REQUIRED = -32_000

/** A capability is there when it is an object, however empty. */
const offered = z.looseObject({}).nullish()

export const Initialized = z.looseObject({
  protocolVersion: z.number(),
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

export const OpenedSession = z.looseObject({ sessionId: z.string().min(1) })

/** `cancelled` and `refusal` are among the reasons; new ones may come. */
export const PromptAnswer = z.looseObject({ stopReason: z.string() })

/** What is told of a tool call, in the first update of it, in later ones and in the question for leave. */
export const ToolCall = z.looseObject({
  toolCallId: z.string(),
  title: z.string().nullish(),
  kind: z.string().nullish(),
  /** As the model calls it; only some agents say. */
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

/** The kinds of options are `allow_once`, `allow_always`, `reject_once` and `reject_always`. */
export const PermissionRequest = z.looseObject({
  sessionId: z.string(),
  toolCall: ToolCall,
  options: z.array(z.looseObject({ optionId: z.string(), kind: z.string() })),
})
export type PermissionRequest = z.infer<typeof PermissionRequest>

export type PermissionAnswer = {
  outcome: { outcome: 'selected'; optionId: string } | { outcome: 'cancelled' }
}
