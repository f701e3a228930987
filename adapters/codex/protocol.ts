/**
 * What a doorbell needs of the Codex app-server's protocol, as version 0.169 speaks it: JSON-RPC without
 * the `jsonrpc` member, one message a WebSocket frame. Source: `codex app-server generate-json-schema
 * --experimental`. Whatever is not read here may change.
 */
import * as z from 'zod'
import { isDrain } from '../../src/contracts/drain.ts'

/** `active` is a running turn, or one that waits for an approval. */
const ThreadStatus = z.looseObject({
  type: z.enum(['idle', 'active', 'systemError', 'notLoaded']).or(z.string()),
})

export const Thread = z.looseObject({
  id: z.string(),
  /** Helpers of the client, which writes a title for every turn with one. */
  ephemeral: z.boolean(),
  /** `user` for what a person began. */
  threadSource: z.string().nullable(),
  /** Set for a subagent's. */
  parentThreadId: z.string().nullable(),
  /** What began it: `exec` is a single command. */
  source: z.unknown().optional(),
  status: ThreadStatus.optional(),
  /** Seconds since 1970. */
  updatedAt: z.number().optional(),
})
export type Thread = z.infer<typeof Thread>

const turn = z.looseObject({ id: z.string(), status: z.string() })
const item = z.looseObject({
  type: z.string(),
  /** Of a userMessage: what the one who sent it called it. */
  clientId: z.string().nullish(),
  /** Of an mcpToolCall. */
  tool: z.string().optional(),
  arguments: z.unknown().optional(),
  status: z.string().optional(),
})

/** The notifications that move the shim; every other is left unread. */
export const Notification = z.discriminatedUnion('method', [
  z.looseObject({ method: z.literal('thread/started'), params: z.looseObject({ thread: Thread }) }),
  z.looseObject({
    method: z.literal('thread/status/changed'),
    params: z.looseObject({ threadId: z.string(), status: ThreadStatus }),
  }),
  z.looseObject({ method: z.literal('thread/closed'), params: z.looseObject({ threadId: z.string() }) }),
  // Sent to every client whenever one of them opens a thread again by `thread/resume`.
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

/** What the app-server asks of its clients. */
export const ServerRequest = z.looseObject({
  id: z.union([z.number(), z.string()]),
  method: z.string(),
  params: z.looseObject({
    threadId: z.string(),
    /** Of an approval that would widen what the thread may do. */
    permissions: z.unknown().optional(),
    _meta: z.looseObject({ codex_approval_kind: z.string().optional() }).nullish(),
  }),
})
export type ServerRequest = z.infer<typeof ServerRequest>

export const ThreadAnswer = z.looseObject({ thread: Thread })
export type ThreadAnswer = z.infer<typeof ThreadAnswer>
/** What was said in a thread, as far as it matters who said it. */
export const ThreadStory = z.looseObject({
  thread: z.looseObject({ turns: z.array(z.looseObject({ items: z.array(item) })) }),
})
export const LoadedThreads = z.looseObject({ data: z.array(z.string()) })
export const QueuedSubmission = z.looseObject({ id: z.string(), clientUserMessageId: z.string().nullable() })
export const QueueList = z.looseObject({ data: z.array(QueuedSubmission) })

/** It is about this thread, and not its beginning. */
export function isOf(thread_id: string | null, { method, params }: Notification): boolean {
  return method !== 'thread/started' && params.threadId === thread_id
}

/** A drain has ended. One that failed has taken nothing. */
export function hasDrained({ method, params }: Notification): boolean {
  if (method !== 'item/completed') return false
  const { type, tool = '', arguments: args, status } = params.item
  return type === 'mcpToolCall' && isDrain(tool, args) && status !== 'failed'
}
