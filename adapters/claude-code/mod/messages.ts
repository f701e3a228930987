/**
 * Messages between the module that runs inside Claude Code and the worker of the same session: HTTP over a Unix socket,
 * JSON bodies, all requests from the module.
 *
 * `POST /hello` attaches the module, also after a reload. `POST /events` reports, in order and in batches.
 * `POST /wait` is answered when there is something to do or to show, and after `mod_wait_ms` with `{}`. A worker that
 * does not know the `epoch`, because it was replaced, answers 409, and the module greets again.
 *
 * The module runs without Node.js and without packages, so it imports only the types of this file.
 */
import * as z from 'zod'
import { CapturedText } from '../../../src/contracts/activity/event.ts'
import { LIMITS } from '../../../src/contracts/limits/limits.ts'
import type { TeamView } from '../../../src/contracts/team-view.ts'

const Text = z.string().max(LIMITS.mod_text_length_max)
const Count = z.number().int().min(0)
/** The last time that a date can be, in milliseconds since 1970. */
const TIME_MAX = 8_640_000_000_000_000
/** The client's time in milliseconds since 1970. */
const Time = z.number().min(0).max(TIME_MAX)

/**
 * What a person, a model or a tool wrote. Only if the worker wants it; absent also if it is not a text or too much waits. One
 * that cannot be read counts as absent, because the event is needed without it, too.
 */
const Content = CapturedText.optional().catch(undefined)

const WAITING = { call: Text, tool: Text, why: Text.optional(), agent: Text.optional() }
const AGENT = { agent: Text, parent: Text.optional(), type: Text.optional(), task: Text.optional() }
/** A request to a person that is not answered, or a subagent that runs; `at` is its begin. */
const OpenWait = z.object({ ...WAITING, at: Time })
export type OpenWait = z.infer<typeof OpenWait>
const RunningAgent = z.object({ ...AGENT, at: Time })
export type RunningAgent = z.infer<typeof RunningAgent>

export const Hello = z.object({
  protocol: z.number().int(),
  /** Version of the plugin that contains the module. */
  version: Text,
  client_version: Text,
  /** False with `-p`: the worker switches the module off, because an open request would delay the client's exit. */
  interactive: z.boolean(),
  session_id: Text,
  /** Working directory; absent from older modules. */
  cwd: z.string().max(4_096).optional().catch(undefined),
  /** Whether a turn of the main agent runs; null after a reload, which may have happened during a turn. */
  busy: z.boolean().nullable(),
  /** The running turn of the main agent; absent if none runs or it is unknown. */
  turn: Text.optional(),
  /** Oldest first, without those that began before the module was loaded; absent from older modules. */
  waiting: z.array(OpenWait).max(LIMITS.presence_waiting_max).optional(),
  agents: z.array(RunningAgent).max(LIMITS.presence_agents_max).optional(),
  /** Number of waiting events, which are sent next and describe the time before this message. */
  past: Count,
})
export type Hello = z.infer<typeof Hello>

/** `off`: the module must do nothing more, for the named reason. Without `content`, events contain only facts. */
export type HelloAnswer =
  | { mode: 'on'; epoch: string; version: string; content?: boolean }
  | { mode: 'off'; reason: 'protocol' | 'configured' | 'headless'; version: string }

/** Why the client did not begin a turn with a doorbell. */
export const DropReason = z.enum([
  // A turn had begun before the doorbell was submitted.
  'busy',
  // A person interrupted the last turn and has sent nothing since.
  'stopped',
  // An interrupt removed it from the client's queue.
  'dequeued',
  'failed',
])
export type DropReason = z.infer<typeof DropReason>

const Usage = z.record(z.string(), z.unknown())
/** A figure of the client's; anything but a whole number counts as missing. */
const Figure = Count.optional().catch(undefined)

/** `agent` is the id of a subagent; absent for the main agent. `turn` and `call` are the client's own ids. */
export const ModEvent = z.discriminatedUnion('kind', [
  /** The session continues under another id, after `/clear` or a resume in the client. */
  z.object({ kind: z.literal('session'), session_id: Text, reason: Text.optional() }),
  /** `during` is the running turn into which the prompt was typed. */
  z.object({ kind: z.literal('prompt'), origin: Text, during: Text.optional() }),
  z.object({
    kind: z.literal('turn_started'),
    turn: Text,
    agent: Text.optional(),
    /** It begins with a doorbell. */
    bell: z.boolean().optional(),
    /** The prompt. */
    content: Content,
  }),
  z.object({
    kind: z.literal('turn_ended'),
    turn: Text,
    agent: Text.optional(),
    reason: Text,
    usage: Usage.optional(),
  }),
  /** A person pressed Esc or Ctrl-C, or a program sent an interrupt. */
  z.object({ kind: z.literal('stopped') }),
  z.object({
    kind: z.literal('bell'),
    doorbell_id: Text,
    /** Absent if a turn began with the doorbell. */
    dropped: DropReason.optional().catch('failed'),
    detail: Text.optional(),
  }),
  /** The client asks a person. */
  z.object({ kind: z.literal('waiting_started'), ...WAITING }),
  z.object({ kind: z.literal('waiting_ended'), call: Text }),
  z.object({
    kind: z.literal('tool_started'),
    call: Text,
    tool: Text,
    agent: Text.optional(),
    /** The input as JSON. */
    content: Content,
  }),
  z.object({
    kind: z.literal('tool_ended'),
    call: Text,
    ms: z.number(),
    failed: z.boolean().optional(),
    /** A person or a rule refused the call. */
    denied: z.boolean().optional(),
    /** The output, or the error. */
    content: Content,
  }),
  z.object({ kind: z.literal('agent_started'), ...AGENT }),
  /** The content is its last answer. */
  z.object({ kind: z.literal('agent_ended'), agent: Text, status: Text.optional(), content: Content }),
  z.object({
    kind: z.literal('measured'),
    tokens: Figure,
    window: Figure,
    cost_usd: z.number().optional().catch(undefined),
  }),
  z.object({ kind: z.literal('compacting'), trigger: Text, agent: Text.optional() }),
  z.object({ kind: z.literal('compacted'), before: Figure, after: Figure }),
  /**
   * Whether the conversation contained turnbell's primer when the model first answered after a compaction. Absent if
   * that cannot be checked.
   */
  z.object({ kind: z.literal('restored'), found: z.boolean() }),
  z.object({ kind: z.literal('ended'), reason: Text.optional() }),
])
export type ModEvent = z.infer<typeof ModEvent>

/** `seq` increases by one with each event of an epoch. */
const Numbered = z.object({ seq: Count, at: Time })
export const NumberedEvent = z.intersection(Numbered, ModEvent)
export type NumberedEvent = z.infer<typeof NumberedEvent>

const KINDS: readonly string[] = ModEvent.options.map(({ shape }) => shape.kind.value)
/**
 * Any other event, so that one does not invalidate its batch. Its kind may be that of a newer module: an upgrade replaces the
 * module in a running client, but not the worker.
 */
const OtherEvent = z
  .object({ seq: Count, kind: Text })
  .transform(({ seq, kind }): { seq: number; kind: 'unknown' } | { seq: number; kind: 'unreadable' } =>
    KINDS.includes(kind) ? { seq, kind: 'unreadable' } : { seq, kind: 'unknown' },
  )

/** An empty batch shows that the module lives. */
export const Batch = z.object({
  epoch: Text,
  /** Number of events that the module dropped because its queue was full. */
  lost: Count,
  events: z.array(z.union([NumberedEvent, OtherEvent])).max(LIMITS.mod_batch_events_max),
})
export type Batch = z.infer<typeof Batch>

export const Wait = z.object({
  epoch: Text,
  /** Doorbells that the module received and whose outcome the worker has not acknowledged; others are sent again. */
  holds: z.array(Text).max(16).default([]),
  /** Version of the view that the module shows; 0 for none. */
  view: Count.default(0),
})
export type Wait = z.infer<typeof Wait>

export interface WaitAnswer {
  /** A doorbell to submit. The module reports its fate as the event `bell`. */
  bell?: { doorbell_id: string; text: string }
  /** The module shows another version of the view. */
  view?: ViewUpdate
}

/**
 * What the module shows in the client. The texts of others are only names, which cannot contain control characters, and
 * the lists are short.
 */
export interface ClientView {
  persona: string
  /** Null if the hub returned none. */
  team: TeamView | null
  /** Present if a hub answered, but without a team view: it may be older than the route. */
  refused?: true
}

export interface ViewUpdate {
  /** Above 0. */
  version: number
  view: ClientView
  /** New signals in the person's inbox; sent once. With `more`, at least `count`. */
  arrived?: { count: number; from: string[]; more?: true }
}
