/**
 * The parts of the app-server's messages from which activity is recorded, version 0.171. Source:
 * `codex app-server generate-ts --experimental`, and recorded messages. Everything else may change.
 */
import * as z from 'zod'

const Milliseconds = z.number().nullish().catch(undefined)

/** Something in a turn: a message, a call, a compaction. Its other fields depend on the type. */
export const Item = z.looseObject({
  type: z.string(),
  id: z.string().min(1),
  startedAtMs: Milliseconds,
  completedAtMs: Milliseconds,
})
export type Item = z.infer<typeof Item>

const TurnFailure = z.looseObject({
  message: z.string().catch(''),
  /** A word, or an object whose only key is the word. */
  codexErrorInfo: z.unknown(),
})
export type TurnFailure = z.infer<typeof TurnFailure>

export const Turn = z.looseObject({
  /** UUIDv7, so later ids are greater. */
  id: z.string().min(1),
  /** `inProgress`, `completed`, `interrupted` or `failed`. */
  status: z.string(),
  error: TurnFailure.nullish().catch(undefined),
  /** Seconds since 1970. */
  startedAt: z.number().nullish().catch(undefined),
  completedAt: z.number().nullish().catch(undefined),
  items: z.array(z.unknown()).catch([]),
})
export type Turn = z.infer<typeof Turn>

/** Returns how a turn ended. */
export function endStatus({ status }: Turn): 'completed' | 'interrupted' | 'failed' {
  return status === 'completed' || status === 'interrupted' ? status : 'failed'
}

const Figures = z.looseObject({
  totalTokens: z.number(),
  inputTokens: z.number(),
  /** A part of the input. */
  cachedInputTokens: z.number(),
  cacheWriteInputTokens: z.number().default(0),
  outputTokens: z.number(),
})
export type Figures = z.infer<typeof Figures>

const message = <Method extends string, Fields extends z.ZodRawShape>(method: Method, fields: Fields) =>
  z.looseObject({
    method: z.literal(method),
    emittedAtMs: Milliseconds,
    params: z.looseObject({ threadId: z.string(), ...fields }),
  })
const request = <Method extends string, Fields extends z.ZodRawShape>(method: Method, fields: Fields) =>
  message(method, fields).extend({ id: z.union([z.number(), z.string()]) })

const IN_TURN = { turnId: z.string() }
const OF_ITEM = { ...IN_TURN, item: Item, startedAtMs: Milliseconds, completedAtMs: Milliseconds }
const ASKED = { turnId: z.string().nullish(), itemId: z.string().min(1), startedAtMs: Milliseconds }

export const ActivityMessage = z.discriminatedUnion('method', [
  message('thread/closed', {}),
  message('turn/started', { turn: Turn }),
  message('turn/completed', { turn: Turn }),
  message('item/started', OF_ITEM),
  message('item/completed', OF_ITEM),
  message('thread/tokenUsage/updated', {
    ...IN_TURN,
    tokenUsage: z.looseObject({ total: Figures, last: Figures, modelContextWindow: z.number().nullish() }),
  }),
  message('error', { ...IN_TURN, error: TurnFailure }),
  // Sent when any client has answered.
  message('serverRequest/resolved', { requestId: z.union([z.number(), z.string()]) }),
  request('item/commandExecution/requestApproval', { ...ASKED, approvalId: z.string().nullish() }),
  request('item/fileChange/requestApproval', ASKED),
  request('item/permissions/requestApproval', ASKED),
  request('item/tool/requestUserInput', {
    ...ASKED,
    questions: z.array(z.looseObject({ question: z.string().catch('') })).catch([]),
  }),
  request('mcpServer/elicitation/request', {
    turnId: z.string().nullish(),
    serverName: z.string().catch(''),
    _meta: z.looseObject({ codex_approval_kind: z.string().optional() }).nullish().catch(undefined),
  }),
])
export type ActivityMessage = z.infer<typeof ActivityMessage>
export type MessageOf<Method extends ActivityMessage['method']> = Extract<ActivityMessage, { method: Method }>

const METHODS: ReadonlySet<string> = new Set(
  ActivityMessage.options.map((option) => option.shape.method.value),
)

/** Whether activity is recorded from messages with this method. Most messages are parts of texts, which are not parsed. */
export function isActivityMethod(method: string): boolean {
  return METHODS.has(method)
}

/** The answer to `thread/turns/list`, newest first. */
export const TurnsPage = z.looseObject({ data: z.array(Turn) })

/** What is recorded of a bound thread. */
export const ThreadFacts = z.looseObject({
  id: z.string(),
  cwd: z.string().optional().catch(undefined),
  model: z.string().nullish().catch(undefined),
  /** The first prompt; empty before it. */
  preview: z.string().optional().catch(undefined),
})

type Given<T> = { [Name in keyof T]?: Exclude<T[Name], undefined> }

/** Leaves out the fields that are undefined. */
export function given<T extends object>(fields: T): Given<T> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Given<T>
}

/** Shortens a client's word to the length that a report may contain. */
export function word(text: string): string {
  return text.slice(0, WORD_MAX)
}

const WORD_MAX = 256

/** Returns the client's word for an error. */
export function failureWord({ codexErrorInfo: info }: TurnFailure): string | undefined {
  const found = typeof info === 'object' && info !== null ? Object.keys(info)[0] : info
  return typeof found === 'string' && found !== '' ? word(found) : undefined
}

/** Years that ISO 8601 writes with four digits. */
const TIME_MAX = Date.parse('9999-12-31T23:59:59.999Z')

/** Returns the first of the times in milliseconds that is given, and undefined for one that no clock shows. */
export function timeOf(...times: (number | null | undefined)[]): string | undefined {
  const at = times.find((time) => typeof time === 'number')
  return typeof at === 'number' && at >= 0 && at <= TIME_MAX ? new Date(at).toISOString() : undefined
}
