/**
 * What a client reports of an agent's work: one event per fact, numbered per session by the shim. The hub stores each
 * `(session_id, seq)` once.
 */
import * as z from 'zod'
import { ClientName } from './client-name.ts'
import { Identity, Json, SessionId, Timestamp, Ulid } from '../ids.ts'
import { LIMITS } from '../limits/limits.ts'

/** An id or name that a client assigned. */
const ClientId = z.string().min(1).max(256)
const Word = z.string().max(256)
const Count = z.number().int().min(0)

/** Beginning of a text that is longer than `activity_text_bytes_max`. */
export const CutText = z.object({
  text: z.string(),
  /** Size of the whole text in UTF-8. */
  bytes: Count,
  /** Digest of the whole text, hexadecimal. */
  sha256: z.string().regex(/^[0-9a-f]{64}$/),
})
export type CutText = z.infer<typeof CutText>

/** A prompt, an output, an error: whole, or only its beginning. */
export const CapturedText = z.union([z.string(), CutText]).meta({ title: 'CapturedText' })
export type CapturedText = z.infer<typeof CapturedText>

/** A tool's input: any value, or the beginning of its JSON text. */
export const CapturedValue = z.union([CutText, Json])

export const WaitingFor = z.enum(['permission', 'question', 'plan', 'rate_limit', 'peer'])
export type WaitingFor = z.infer<typeof WaitingFor>

/** How a turn or a subagent ended. */
export const EndStatus = z.enum(['completed', 'interrupted', 'failed'])
export type EndStatus = z.infer<typeof EndStatus>

const ACTION = { action_id: ClientId, tool: ClientId.optional(), duration_ms: Count.optional() }

/** Fields of `data` by the kind of the event. */
export const ACTIVITY_DATA = {
  'session.started': z.object({
    /** Working directory; absolute. */
    project: z.string().min(1).max(4_096).optional(),
    /** Why the client started it: `startup`, `resume`, `clear`, `compact`. */
    reason: Word.optional(),
    model: Word.optional(),
    /** The client's process, with its start time as the system reports it. */
    pid: Count.optional(),
    pid_started: Word.optional(),
    /** The session that this one continues. */
    continues: SessionId.optional(),
  }),
  'session.ended': z.object({ reason: Word.optional() }),
  'request.started': z.object({
    /** The client's id of the turn. */
    request_id: ClientId.optional(),
    prompt: CapturedText.optional(),
    /** Who prompted: `person`, `doorbell`, `peer`, `task`, …. */
    prompt_type: Word.optional(),
  }),
  'request.ended': z.object({
    request_id: ClientId.optional(),
    status: EndStatus,
    /** The client's word for the end. */
    reason: Word.optional(),
    error: CapturedText.optional(),
  }),
  'action.started': z.object({ ...ACTION, tool: ClientId, input: CapturedValue.optional() }),
  'action.ended': z.object({
    ...ACTION,
    output: CapturedText.optional(),
    exit_code: z.number().int().optional(),
  }),
  'action.failed': z.object({
    ...ACTION,
    error: CapturedText.optional(),
    exit_code: z.number().int().optional(),
    /** A person or a rule refused the call. */
    denied: z.boolean().optional(),
  }),
  'subtask.started': z.object({
    subtask_id: ClientId,
    agent_type: Word.optional(),
    description: CapturedText.optional(),
    /** The subagent that started it; absent for the main agent. */
    parent_id: ClientId.optional(),
  }),
  'subtask.ended': z.object({
    subtask_id: ClientId,
    status: EndStatus.optional(),
    result: CapturedText.optional(),
  }),
  'waiting.started': z.object({
    waiting_id: ClientId,
    for: WaitingFor,
    /** The tool, the question or the peer. */
    what: Word.optional(),
    /** When the wait ends by itself. */
    until: Timestamp.optional(),
  }),
  'waiting.ended': z.object({ waiting_id: ClientId }),
  'compaction.started': z.object({ trigger: Word.optional() }),
  /** Without sizes, nothing was compacted. */
  'compaction.ended': z.object({ tokens_before: Count.optional(), tokens_after: Count.optional() }),
  usage: z.object({
    /** Id of the model request; the last figures of an id are counted. */
    usage_id: ClientId,
    model: Word.optional(),
    input_tokens: Count.optional(),
    output_tokens: Count.optional(),
    cache_read_tokens: Count.optional(),
    cache_write_tokens: Count.optional(),
    /** As the client reports it; never computed. */
    cost_usd: z.number().min(0).optional(),
    /** Size of the context and of the window, in tokens. */
    context_tokens: Count.optional(),
    context_window: Count.optional(),
  }),
  error: z.object({ what: Word, message: CapturedText.optional() }),
} as const

export type ActivityKind = keyof typeof ACTIVITY_DATA
export const ActivityKind = z.enum(Object.keys(ACTIVITY_DATA) as [ActivityKind, ...ActivityKind[]])
export type ActivityData<Kind extends ActivityKind = ActivityKind> = z.infer<(typeof ACTIVITY_DATA)[Kind]>

/** The interface by which the client reported it. */
export const ActivitySource = z.enum(['hook', 'mod', 'app_server', 'plugin', 'acp', 'import'])
export type ActivitySource = z.infer<typeof ActivitySource>

const REPORTED = {
  event_id: Ulid,
  /** The subagent in which it happened; null for the main agent. */
  agent_id: ClientId.nullable(),
  /** Number of the turn in the session; 0 before the first one. */
  turn_seq: Count,
  /** Number of the event in the session; from 1, without gaps. */
  seq: z.number().int().min(1),
  at: Timestamp,
  source: ActivitySource,
}

const kinds = Object.entries(ACTIVITY_DATA).map(([kind, data]) =>
  z.object({ ...REPORTED, kind: z.literal(kind), data }),
)
type Reported = {
  [Kind in ActivityKind]: {
    [Field in keyof typeof REPORTED]: z.infer<(typeof REPORTED)[Field]>
  } & { kind: Kind; data: ActivityData<Kind> }
}[ActivityKind]

/** An event without the fields that all events of a report share. */
export const ReportedEvent = z.discriminatedUnion(
  'kind',
  kinds as unknown as [(typeof kinds)[number], ...typeof kinds],
) as unknown as z.ZodType<Reported>
export type ReportedEvent = Reported

/** The body of `POST /activity`. */
export const ActivityReport = z.object({
  session_id: SessionId,
  client: ClientName,
  /** Only for the operator: the persona of the session. Default: the caller. */
  identity: Identity.optional(),
  events: z.array(ReportedEvent).max(LIMITS.activity_report_events_max),
})
export type ActivityReport = z.infer<typeof ActivityReport>

export type ActivityEvent = ReportedEvent & {
  client: ClientName
  identity: Identity
  session_id: SessionId
}

export const ActivityReceipt = z.object({
  accepted: Count,
  /** Events whose `(session_id, seq)` is stored already. */
  duplicates: Count,
  /** Above every seq of the session that the hub knows. */
  next_seq: z.number().int().min(1),
  /** Events that are not stored, because the caller exceeded its rate or the disk refused them. */
  dropped: Count.optional(),
})
export type ActivityReceipt = z.infer<typeof ActivityReceipt>
