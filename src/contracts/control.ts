/**
 * Protocol of a persona's two sockets: JSON-RPC 2.0, one UTF-8 message a line, at most `LIMITS.line_bytes_max` bytes a
 * line. `control.sock` serves the operator; shims connect to `surface.sock`.
 */
import * as z from 'zod'
import { Doorbell } from './doorbell.ts'
import { DoorbellId, Identity, InstanceId, Json, SessionId, SurfaceKind, TenantId } from './ids.ts'
import { DaemonErrorClass } from './metrics.ts'
import { Presence } from './presence.ts'
import { Turn } from './registry.ts'

const RpcId = z.union([z.string(), z.number(), z.null()])

export const RpcRequest = z.object({
  jsonrpc: z.literal('2.0'),
  /** Absent in a notification, which gets no response. */
  id: RpcId.optional(),
  method: z.string(),
  params: z.record(z.string(), Json).optional(),
})
export type RpcRequest = z.infer<typeof RpcRequest>

/** JSON-RPC 2.0, section 5.1. */
export const RPC_ERRORS = {
  parse_error: -32700,
  invalid_request: -32600,
  method_not_found: -32601,
  invalid_params: -32602,
  internal_error: -32603,
  /** The method failed with a `TurnbellError`. The code is in the range that the specification reserves for servers. */
  refused: -32000,
} as const

export const RpcError = z.object({ code: z.number().int(), message: z.string(), data: Json.optional() })
export const RpcResponse = z.object({
  jsonrpc: z.literal('2.0'),
  id: RpcId,
  result: Json.optional(),
  error: RpcError.optional(),
})
export type RpcResponse = z.infer<typeof RpcResponse>

export const ControlVerb = z.enum(['status', 'notify_surface', 'resume_surface', 'shutdown'])
export type ControlVerb = z.infer<typeof ControlVerb>

/** Parameters of every method; another persona than the socket's own is rejected. */
export const ControlParams = z.strictObject({ identity: Identity.optional() })

export const MachineState = z.enum(['DISCONNECTED', 'RECONCILING', 'CONNECTED', 'EMITTING'])
export type MachineState = z.infer<typeof MachineState>

/**
 * Certainty that a doorbell arrived. Only a drain proves delivery.
 * - `confirmed`: the id of the doorbell was seen in a turn.
 * - `sent`: sent to the surface, without further evidence.
 * - `deferred`: the surface cannot accept it now (busy, a draft, a dialog).
 * - `unavailable`: there is no surface.
 * - `failed`: the attempt failed.
 */
export const Proof = z.enum(['confirmed', 'sent', 'deferred', 'unavailable', 'failed'])
export type Proof = z.infer<typeof Proof>

/** How a surface with several ways is reached: `module`, or `hooks` and the reason why not by the module. */
export const Via = z.string().max(100)

/** Reason why signals do not reach the agent. */
export const DeliveryReason = z.enum([
  'no_client',
  'no_window',
  'not_drained',
  'surface_failed',
  'hub_unreachable',
])
export type DeliveryReason = z.infer<typeof DeliveryReason>

export const DaemonStatus = z.object({
  tenant_id: TenantId,
  identity: Identity,
  pid: z.number().int(),
  uptime_s: z.number(),
  state: MachineState,
  connected: z.boolean(),
  delivery: z.enum(['ok', 'degraded']),
  /** Null if `delivery` is `ok`. */
  delivery_reason: DeliveryReason.nullable(),
  /** Seconds since `delivery_reason` last changed. */
  delivery_reason_age_s: z.number(),
  /** Number of signals drained in an ended turn and not completed, as last reported by the hub. */
  in_progress_count: z.number().int().min(0),
  last_heartbeat_age_s: z.number().nullable(),
  last_drain_age_s: z.number().nullable(),
  pending_count: z.number().int(),
  last_error_class: DaemonErrorClass.nullable(),
  last_error_age_s: z.number().nullable(),
  surface: z.object({
    kind: SurfaceKind,
    attached: z.boolean(),
    session_id: SessionId.nullable(),
    turn: Turn,
    /** Last known result of the last doorbell; null before the first. */
    last_proof: Proof.nullable(),
    /** As reported by the surface; null if it has only one way, or is not attached, or the daemon is older. */
    via: Via.nullable().default(null),
    /** Seconds since a person interrupted the session, if they have sent nothing since; otherwise null. */
    interrupted_age_s: z.number().nullable().default(null),
    /** As reported by the surface; null if it does not report it, or is not attached, or the daemon is older. */
    presence: Presence.nullable().default(null),
  }),
  /**
   * Counted since the first daemon of the persona that stored its state, like the ages of doorbells and of the last
   * signal.
   */
  doorbells_rung: z.number().int(),
  /** Number of doorbells since the last drain. */
  doorbells_undrained: z.number().int(),
  last_rung_age_s: z.number().nullable(),
  /** Seconds since a doorbell was last seen in a turn. */
  last_seen_age_s: z.number().nullable(),
  last_received: z.object({ from: z.string(), intent: z.string(), age_s: z.number() }).nullable(),
  restarts: z.number().int(),
})
export type DaemonStatus = z.infer<typeof DaemonStatus>

/** Reason why a manual doorbell was not sent. `mid_turn` is deferred, the others are rejected. */
export const NotifyReason = z.enum([
  'mid_turn',
  'nothing_pending',
  'already_rung',
  'surface_absent',
  'not_connected',
])
export const NotifyResult = z.object({ accepted: z.boolean(), reason: NotifyReason.optional() })
export type NotifyResult = z.infer<typeof NotifyResult>
export const ResumeResult = z.object({ accepted: z.boolean() })
export const ShutdownResult = z.object({ stopping: z.literal(true) })

// --- surface.sock ---------------------------------------------------------------------------

export const RingResult = z.object({ accepted: z.boolean(), proof: Proof })
export type RingResult = z.infer<typeof RingResult>

/** Body of a report on surface.sock, and result of its method `status`. */
export const SurfaceStatus = z.object({
  surface: SurfaceKind,
  session_id: SessionId.nullable(),
  /** A push shim keeps its connection open and receives `notify_surface`; a pull shim only sends reports. */
  delivery: z.enum(['push', 'pull']),
  turn: Turn,
  /** Number of turns that have started. */
  turn_seq: z.number().int().min(0),
  seen_doorbell_id: DoorbellId.optional(),
  /**
   * Newest doorbell whose prompt the surface holds: stored, queued or shown, before a turn has started with it. Absent
   * after a turn consumed it, or when the prompt is certainly lost. It remains set while the surface does not know, and
   * the daemon sends no other doorbell while it is set.
   */
  outstanding_doorbell_id: DoorbellId.optional(),
  /** A person interrupted the last turn and has not sent anything since. */
  interrupted: z.literal(true).optional(),
  /**
   * Process that runs the agent's turns. A different one in the same session means that the previous process and its
   * turn have ended. Absent if unknown.
   */
  instance_id: InstanceId.optional(),
  /** The session has no window. The daemon rings it only if the persona is headless. */
  window: z.literal(false).optional(),
  via: Via.optional(),
  /** Only for `status`; it never decides about a doorbell, so an invalid one does not make the report invalid. */
  presence: Presence.optional().catch(undefined),
  /** The shim runs without a client; the daemon treats the surface as absent. */
  absent: z.literal(true).optional(),
})
export type SurfaceStatus = z.infer<typeof SurfaceStatus>

/** With `take`, the response to the report may contain a doorbell. */
export const SurfaceReport = SurfaceStatus.extend({ take: z.boolean().optional() })
export type SurfaceReport = z.infer<typeof SurfaceReport>

export const ReportAnswer = z.object({ doorbell: Doorbell.nullable() })
export type ReportAnswer = z.infer<typeof ReportAnswer>
