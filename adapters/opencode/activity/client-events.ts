/**
 * The events of opencode 1.18 from which activity is recorded, as its server streams them and as plugins receive them. Source:
 * recorded events of the client. Only the fields that are used are listed.
 */
import * as z from 'zod'
import { SessionId } from '../../../src/contracts/ids.ts'

/** A time in milliseconds since 1970. An invalid one counts as missing. */
const Time = z.number().optional().catch(undefined)
const Figure = z.number().int().min(0).optional().catch(undefined)
const Text = z.string().optional().catch(undefined)

export const SessionInfo = z.looseObject({
  id: SessionId,
  /** Set for a subagent's session. */
  parentID: Text,
  directory: z.string(),
  title: Text,
  agent: Text,
  model: z.looseObject({ id: z.string(), providerID: z.string() }).optional().catch(undefined),
})
export type SessionInfo = z.infer<typeof SessionInfo>

const Failure = z
  .looseObject({ name: Text, data: z.looseObject({ message: Text }).optional().catch(undefined) })
  .optional()
  .catch(undefined)
export type Failure = NonNullable<z.infer<typeof Failure>>

const Tokens = z
  .looseObject({
    total: Figure,
    input: Figure,
    output: Figure,
    /** Not contained in `output`. */
    reasoning: Figure,
    cache: z.looseObject({ read: Figure, write: Figure }).optional().catch(undefined),
  })
  .optional()
  .catch(undefined)

export const Message = z.looseObject({
  id: z.string(),
  role: z.string(),
  /** Of an answer: the id of the answered message. */
  parentID: Text,
  agent: Text,
  providerID: Text,
  modelID: Text,
  /** Of an answer: whether it is the summary of a compaction. Of a prompt it has another meaning. */
  summary: z.unknown().optional(),
  tokens: Tokens,
  /** In US dollars. */
  cost: z.number().min(0).optional().catch(undefined),
  error: Failure,
  time: z.looseObject({ created: Time, completed: Time }).catch({ created: undefined, completed: undefined }),
})
export type Message = z.infer<typeof Message>

const Call = z.looseObject({
  type: z.literal('tool'),
  id: z.string(),
  messageID: z.string(),
  callID: z.string().min(1),
  tool: z.string().min(1),
  state: z.looseObject({
    status: z.string(),
    /** A value that came as JSON. */
    input: z.json().optional().catch(undefined),
    output: Text,
    error: Text,
    metadata: z
      .looseObject({ exit: z.number().int().optional().catch(undefined) })
      .optional()
      .catch(undefined),
    /** `compacted`: the output of an old call was removed from the conversation. */
    time: z.looseObject({ start: Time, end: Time, compacted: Time }).optional().catch(undefined),
  }),
})
export type Call = z.infer<typeof Call>

const text = z.looseObject({
  type: z.literal('text'),
  id: z.string(),
  messageID: z.string(),
  text: z.string(),
  /** Written by the client, not by the author of the message. */
  synthetic: z.boolean().optional().catch(undefined),
  metadata: z.record(z.string(), z.unknown()).optional().catch(undefined),
})
const compaction = z.looseObject({
  type: z.literal('compaction'),
  messageID: z.string(),
  /** False if a person requested it. */
  auto: z.boolean().optional().catch(undefined),
})
/** A command that runs in a subagent. */
const subtask = z.looseObject({
  type: z.literal('subtask'),
  id: z.string(),
  messageID: z.string(),
  prompt: z.string(),
})

const Part = z.discriminatedUnion('type', [text, Call, compaction, subtask])
export type Part = z.infer<typeof Part>

const event = <Type extends string, Shape extends z.ZodRawShape>(type: Type, properties: Shape) =>
  z.looseObject({
    type: z.literal(type),
    properties: z.looseObject({ sessionID: SessionId, ...properties }),
  })

const asking = {
  id: z.string().min(1),
  tool: z.looseObject({ callID: z.string() }).optional().catch(undefined),
}
const EVENTS = [
  event('session.created', { info: SessionInfo }),
  event('session.updated', { info: SessionInfo }),
  event('session.deleted', {}),
  event('session.status', { status: z.looseObject({ type: z.string(), message: Text, next: Time }) }),
  event('session.idle', {}),
  event('session.error', { error: Failure }),
  event('session.compacted', {}),
  event('message.updated', { info: Message }),
  event('message.removed', { messageID: z.string() }),
  event('message.part.updated', { part: Part }),
  event('permission.asked', { ...asking, permission: Text }),
  event('permission.replied', { requestID: z.string(), reply: z.string() }),
  event('question.asked', {
    ...asking,
    questions: z.array(z.looseObject({ question: Text })).catch([]),
  }),
  event('question.replied', { requestID: z.string() }),
  event('question.rejected', { requestID: z.string() }),
] as const
const ClientEvent = z.discriminatedUnion('type', EVENTS)
export type ClientEvent = z.infer<typeof ClientEvent>
export type EventOf<Type extends ClientEvent['type']> = Extract<ClientEvent, { type: Type }>['properties']

const TYPES: ReadonlySet<unknown> = new Set(EVENTS.map(({ shape }) => shape.type.value))

/** Returns null for an event that is not used, such as the pieces of a text that is being written. */
export function parseClientEvent(payload: unknown): ClientEvent | null {
  // Most events are pieces of texts; validating them would cost more than everything else.
  if (typeof payload !== 'object' || payload === null || !TYPES.has((payload as { type?: unknown }).type))
    return null
  return ClientEvent.safeParse(payload).data ?? null
}
