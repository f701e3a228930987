/** Bodies of the hub's HTTP routes that are not actions of a facade. */
import * as z from 'zod'
import { HubEvent } from './events.ts'
import { Problem } from './errors/errors.ts'
import { Json } from './ids.ts'
import { LIMITS } from './limits/limits.ts'

export const Health = z.object({
  status: z.enum(['ok', 'starting', 'stopping', 'degraded']),
  version: z.string(),
  uptime_s: z.number(),
  tool_count: z.number().int(),
  /** Connected sessions by kind. */
  connected: z.object({ agent: z.number().int(), daemon: z.number().int(), observer: z.number().int() }),
})
export type Health = z.infer<typeof Health>

export const Readiness = z.object({ ready: z.boolean(), reason: z.string().nullable() })

const Params = z.record(z.string(), Json)
const Name = z.string().min(1).max(128)

/** `{tool, action, params}`, or a former direct name: `{tool: "sentinel_createIssue", params}`. */
export const CallRequest = z.strictObject({
  tool: Name,
  action: Name.optional(),
  params: Params.optional(),
})
/** Parameters written as text that were converted to a number, a list or null. */
const Note = z.string().optional()
export const CallAnswer = z.object({ result: Json, note: Note })

/** Declared origin of a call, never a permission. Strict, because a misspelled scope would select another one. */
export const CallerContext = z.strictObject({
  agent_id: z.string().min(1).max(128).optional(),
  run_id: z.string().min(1).max(128).nullish(),
  parent_call_id: z.string().min(1).max(128).nullish(),
  scope: z.string().min(1).max(1024).nullish(),
})
export type CallerContext = z.infer<typeof CallerContext>

/**
 * Restrictions that a call or a connection sets for itself; they can only remove permissions. Strict, because a
 * misspelled one would not restrict.
 */
export const Narrowing = z.strictObject({
  facets: z.array(Name).optional(),
  facades: z.array(Name).optional(),
  /** Intents of the configuration; a call is restricted to the facades common to all of them. */
  intents: z.array(Name).optional(),
  /** Rejects mutating actions. */
  read_only: z.boolean().optional(),
})
export type Narrowing = z.infer<typeof Narrowing>

export const BatchRequest = z.strictObject({
  calls: z
    .array(z.strictObject({ facade: Name, action: Name, params: Params.optional() }))
    .min(1)
    .max(LIMITS.batch_calls_max),
  context: CallerContext.optional(),
})
export type BatchRequest = z.infer<typeof BatchRequest>
/** Results in the order of the calls; each call fails on its own. */
export const BatchAnswer = z.object({
  results: z.array(
    z.union([z.strictObject({ result: Json, note: Note }), z.strictObject({ error: Problem })]),
  ),
})
export type BatchAnswer = z.infer<typeof BatchAnswer>

export const EventsQuery = z.strictObject({
  /** A seq or an ISO time. */
  since: z.string().max(64).optional(),
  agent_id: z.string().max(128).optional(),
  run_id: z.string().max(128).optional(),
  /** An exact type, or a prefix that ends with `.`. */
  type: z.string().max(64).optional(),
  limit: z.coerce.number().int().min(1).max(LIMITS.events_page_max).default(LIMITS.events_page_max),
})
export const EventsPage = z.object({ events: z.array(HubEvent), next: z.number().int() })
