/**
 * The used part of opencode's HTTP API, version 1.18. Source: its own `GET /doc`, and the server's actual messages.
 * Fields that are not listed here may change.
 */
import * as z from 'zod'
import { SessionId } from '../../src/contracts/ids.ts'

export const Health = z.looseObject({ version: z.string() })

export const Session = z.looseObject({
  id: SessionId,
  /** Set for a subagent's session. */
  parentID: z.string().optional(),
  directory: z.string(),
  agent: z.string().optional(),
  model: z.looseObject({ id: z.string(), providerID: z.string(), variant: z.string().optional() }).optional(),
  /** Milliseconds since 1970. */
  time: z.looseObject({ created: z.number() }),
  /** Set while messages are undone and can be redone. */
  revert: z.unknown().optional(),
})
export type Session = z.infer<typeof Session>

/** Status of a session; `retry`: its turn waits for the model. Statuses are per directory; a missing session is idle. */
const Status = z.looseObject({ type: z.enum(['idle', 'busy', 'retry']).or(z.string()) })
export const Statuses = z.record(z.string(), Status)

const message = z.looseObject({
  id: z.string(),
  role: z.string(),
  /** Of an answer: the id of the answered message. */
  parentID: z.string().optional(),
  agent: z.string().optional(),
  model: z
    .looseObject({ providerID: z.string(), modelID: z.string(), variant: z.string().optional() })
    .optional(),
})
const part = z.looseObject({
  type: z.string(),
  messageID: z.string(),
  /** Kept by opencode unchanged and not shown to the model. */
  metadata: z.record(z.string(), z.unknown()).optional(),
})

/** The stored messages of one session. */
export const Messages = z.array(
  z.looseObject({
    info: message.extend({ time: z.looseObject({ created: z.number() }) }),
    parts: z.array(part).default([]),
  }),
)
export type StoredMessage = z.infer<typeof Messages>[number]
export type MessageInfo = StoredMessage['info']

const event = <Type extends string, Shape extends z.ZodRawShape>(type: Type, properties: Shape) =>
  z.looseObject({
    type: z.literal(type),
    properties: z.looseObject({ sessionID: z.string(), ...properties }),
  })

/** The used part of a session error. In an unknown format it is ignored, and the event still counts. */
const failure = z
  .looseObject({
    name: z.string().optional(),
    data: z.looseObject({ message: z.string().optional() }).optional(),
  })
  .optional()
  .catch(undefined)

/** The events that the shim uses; all others are ignored. */
export const Event = z.discriminatedUnion('type', [
  event('session.created', { info: Session }),
  event('session.updated', { info: Session }),
  event('session.deleted', {}),
  event('session.status', { status: Status }),
  event('session.idle', {}),
  event('session.error', { error: failure }),
  event('message.updated', { info: message }),
  event('message.removed', { messageID: z.string() }),
  event('message.part.updated', { part }),
  event('permission.replied', { reply: z.string() }),
  event('question.rejected', {}),
])
export type Event = z.infer<typeof Event>

const request_fields = { id: z.string() }

/** A request of a session to a person. */
export const UserRequest = z.discriminatedUnion('type', [
  event('permission.asked', request_fields),
  event('question.asked', request_fields),
])
export type UserRequest = z.infer<typeof UserRequest>

/** The open requests of one directory. */
export const OpenRequests = z.array(z.looseObject({ sessionID: z.string(), ...request_fields }))

export type PermissionReply = { reply: 'once' } | { reply: 'reject'; message: string }

/** An event of `GET /global/event`, which covers all directories; `GET /event` covers only one. */
export const Envelope = z.looseObject({
  /** Directory of the server's instance; absent for events of the whole server. */
  directory: z.string().optional().catch(undefined),
  payload: z.looseObject({ type: z.string() }),
})

export interface Prompt {
  agent?: string
  model?: { providerID: string; modelID: string }
  variant?: string
  parts: [{ type: 'text'; text: string; metadata: Record<string, string> }]
}
