/**
 * The used part of the Codex app-server's protocol, version 0.169: JSON-RPC without the `jsonrpc` member, one
 * message per WebSocket frame. Source: `codex app-server generate-json-schema --experimental`. Fields that are not
 * listed here may change.
 */
import * as z from 'zod'
import { isDrain } from '../../src/contracts/drain-calls.ts'

/** `active`: a turn runs or waits for an approval. */
const ThreadStatus = z.looseObject({
  type: z.enum(['idle', 'active', 'systemError', 'notLoaded']).or(z.string()),
})

export const Thread = z.looseObject({
  id: z.string(),
  /** Helper thread of the client, which uses one to write a title for every turn. */
  ephemeral: z.boolean(),
  /** `user` for a thread that a person started. */
  threadSource: z.string().nullable(),
  /** Set for a subagent's thread. */
  parentThreadId: z.string().nullable(),
  /** What started it; `exec` is a single command. */
  source: z.unknown().optional(),
  status: ThreadStatus.optional(),
  /** Seconds since 1970. */
  updatedAt: z.number().optional(),
})
export type Thread = z.infer<typeof Thread>

const turn = z.looseObject({ id: z.string(), status: z.string() })
const item = z.looseObject({
  type: z.string(),
  /** Of a userMessage: the id that its sender gave it. */
  clientId: z.string().nullish(),
  /** Of an mcpToolCall. */
  tool: z.string().optional(),
  arguments: z.unknown().optional(),
  status: z.string().optional(),
})

/** The notifications that the shim uses; all others are ignored. */
export const Notification = z.discriminatedUnion('method', [
  z.looseObject({ method: z.literal('thread/started'), params: z.looseObject({ thread: Thread }) }),
  z.looseObject({
    method: z.literal('thread/status/changed'),
    params: z.looseObject({ threadId: z.string(), status: ThreadStatus }),
  }),
  z.looseObject({ method: z.literal('thread/closed'), params: z.looseObject({ threadId: z.string() }) }),
  // Sent to every client when one of them reopens a thread with `thread/resume`.
  z.looseObject({
    method: z.literal('thread/goal/cleared'),
    params: z.looseObject({ threadId: z.string() }),
  }),
  z.looseObject({
    method: z.literal('thread/goal/updated'),
    params: z.looseObject({ threadId: z.string() }),
  }),
  z.looseObject({
    method: z.literal('turn/started'),
    params: z.looseObject({ threadId: z.string(), turn }),
  }),
  z.looseObject({
    method: z.literal('turn/completed'),
    params: z.looseObject({ threadId: z.string(), turn }),
  }),
  z.looseObject({
    method: z.literal('item/started'),
    params: z.looseObject({ threadId: z.string(), item }),
  }),
  z.looseObject({
    method: z.literal('item/completed'),
    params: z.looseObject({ threadId: z.string(), item }),
  }),
])
export type Notification = z.infer<typeof Notification>

/** A request of the app-server to its clients. */
export const ServerRequest = z.looseObject({
  id: z.union([z.number(), z.string()]),
  method: z.string(),
  params: z.looseObject({
    threadId: z.string(),
    /** The permissions that an approval would add to the thread. */
    permissions: z.unknown().optional(),
    _meta: z.looseObject({ codex_approval_kind: z.string().optional() }).nullish(),
  }),
})
export type ServerRequest = z.infer<typeof ServerRequest>

export const ThreadAnswer = z.looseObject({ thread: Thread })
export type ThreadAnswer = z.infer<typeof ThreadAnswer>
/** The items of a thread's turns. */
export const ThreadHistory = z.looseObject({
  thread: z.looseObject({ turns: z.array(z.looseObject({ items: z.array(item) })) }),
})
export const LoadedThreads = z.looseObject({ data: z.array(z.string()) })
export const QueuedSubmission = z.looseObject({ id: z.string(), clientUserMessageId: z.string().nullable() })
export const QueueList = z.looseObject({ data: z.array(QueuedSubmission) })

/** Whether the notification is about this thread and is not its start. */
export function concernsThread(thread_id: string | null, { method, params }: Notification): boolean {
  return method !== 'thread/started' && params.threadId === thread_id
}

/** Whether a drain has completed. A failed drain has taken no signals. */
export function isDrainCompleted({ method, params }: Notification): boolean {
  if (method !== 'item/completed') return false
  const { type, tool = '', arguments: args, status } = params.item
  return type === 'mcpToolCall' && isDrain(tool, args) && status !== 'failed'
}
