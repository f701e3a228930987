/**
 * What a doorbell needs of opencode's HTTP API, as version 1.18 speaks it. Source: its own `GET /doc`, and
 * what the server really sends. Whatever is not read here may change.
 */
import * as z from 'zod'
import { SessionId } from '../../src/contracts/ids.ts'

export const Health = z.looseObject({ version: z.string() })

export const Session = z.looseObject({
  id: SessionId,
  /** Set for a subagent's. */
  parentID: z.string().optional(),
  directory: z.string(),
  agent: z.string().optional(),
  model: z.looseObject({ id: z.string(), providerID: z.string(), variant: z.string().optional() }).optional(),
  /** In ms since 1970. */
  time: z.looseObject({ created: z.number() }),
  /** Set while what was said from some message on is undone, and can be taken back. */
  revert: z.unknown().optional(),
})
export type Session = z.infer<typeof Session>

/** Of one directory; a session that is not in it is idle. `retry` is a turn that waits for its model. */
const Status = z.looseObject({ type: z.enum(['idle', 'busy', 'retry']).or(z.string()) })
export const Statuses = z.record(z.string(), Status)

const message = z.looseObject({
  id: z.string(),
  role: z.string(),
  /** Of an answer: the message that it answers. */
  parentID: z.string().optional(),
  agent: z.string().optional(),
  model: z
    .looseObject({ providerID: z.string(), modelID: z.string(), variant: z.string().optional() })
    .optional(),
})
const part = z.looseObject({
  type: z.string(),
  messageID: z.string(),
  /** Goes through opencode untouched, to no model. */
  metadata: z.record(z.string(), z.unknown()).optional(),
})

/** Of one session, as they are stored. */
export const Messages = z.array(
  z.looseObject({
    info: message.extend({ time: z.looseObject({ created: z.number() }) }),
    parts: z.array(part).default([]),
  }),
)
export type StoredMessage = z.infer<typeof Messages>[number]
export type KeptMessage = StoredMessage['info']

const event = <Type extends string, Shape extends z.ZodRawShape>(type: Type, properties: Shape) =>
  z.looseObject({
    type: z.literal(type),
    properties: z.looseObject({ sessionID: z.string(), ...properties }),
  })

/** As much of what a session failed by as is read; whatever form it has, the event counts. */
const failure = z
  .looseObject({
    name: z.string().optional(),
    data: z.looseObject({ message: z.string().optional() }).optional(),
  })
  .optional()
  .catch(undefined)

/** The events that move the shim; every other is left unread. */
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

const asking = { id: z.string() }

/** What a session waits with for a person. */
export const Asked = z.discriminatedUnion('type', [
  event('permission.asked', asking),
  event('question.asked', asking),
])
export type Asked = z.infer<typeof Asked>

/** The same, asked for: of one directory. */
export const Open = z.array(z.looseObject({ sessionID: z.string(), ...asking }))

export type PermissionReply = { reply: 'once' } | { reply: 'reject'; message: string }

/** `GET /global/event` tells of every directory; `GET /event` only of one. */
export const Envelope = z.looseObject({ payload: z.looseObject({ type: z.string() }) })

export interface Prompt {
  agent?: string
  model?: { providerID: string; modelID: string }
  variant?: string
  parts: [{ type: 'text'; text: string; metadata: Record<string, string> }]
}
