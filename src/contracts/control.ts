/**
 * The two sockets of a persona. Both speak JSON-RPC 2.0, one message a line, UTF-8, at most
 * `LIMITS.line_bytes_max` bytes a line. `control.sock` is for the operator, `surface.sock` is where
 * surface shims attach.
 */
import * as z from 'zod'
import { Doorbell } from './doorbell.ts'
import { DoorbellId, Identity, InstanceId, Json, SessionId, SurfaceKind, TenantId } from './ids.ts'
import { DaemonErrorClass } from './metrics.ts'
import { Turn } from './registry.ts'

const RpcId = z.union([z.string(), z.number(), z.null()])

export const RpcRequest = z.object({
  jsonrpc: z.literal('2.0'),
  /** Absent in a notification, which gets no answer. */
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
  /** Ours, in the range the specification leaves to servers: the method refused. */
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

/** Every verb takes at most the persona it means; another than the socket's own is refused. */
export const ControlParams = z.strictObject({ identity: Identity.optional() })

export const MachineState = z.enum(['DISCONNECTED', 'RECONCILING', 'CONNECTED', 'EMITTING'])
export type MachineState = z.infer<typeof MachineState>

/**
 * How sure a shim is that a doorbell arrived. Only a drain is a delivery.
 * - `confirmed`: the doorbell's id was seen inside a turn.
 * - `sent`: handed over, nothing more is known yet.
 * - `deferred`: the surface cannot take it now (busy, a draft, a dialog).
 * - `unavailable`: there is no surface to ring.
 * - `failed`: the attempt broke.
 */
export const Proof = z.enum(['confirmed', 'sent', 'deferred', 'unavailable', 'failed'])
export type Proof = z.infer<typeof Proof>

/** Why signals do not reach the agent. */
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
  /** Signals that a session drained in a turn that ended, and that nobody completed; as the hub last told. */
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
    /** What became of the last doorbell, as far as anybody knows; null before the first. */
    last_proof: Proof.nullable(),
  }),
  /** Since the persona's first daemon that kept its state, as are the ages of doorbells and of the last signal. */
  doorbells_rung: z.number().int(),
  /** Doorbells since the last drain. */
  doorbells_undrained: z.number().int(),
  last_rung_age_s: z.number().nullable(),
  /** Since a doorbell was last seen inside a turn. */
  last_seen_age_s: z.number().nullable(),
  last_received: z.object({ from: z.string(), intent: z.string(), age_s: z.number() }).nullable(),
  restarts: z.number().int(),
})
export type DaemonStatus = z.infer<typeof DaemonStatus>

/** Why a manual bell did not leave now. `mid_turn` is deferred, the others are refused. */
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

/** `status` on surface.sock: the answer to a probe and the body of a report are the same object. */
export const SurfaceStatus = z.object({
  surface: SurfaceKind,
  session_id: SessionId.nullable(),
  /** A push shim keeps its connection open and is rung by `notify_surface`; a pull shim only asks. */
  delivery: z.enum(['push', 'pull']),
  turn: Turn,
  /** Grows by one with every turn that begins. */
  turn_seq: z.number().int().min(0),
  seen_doorbell_id: DoorbellId.optional(),
  /**
   * The newest doorbell whose prompt the surface still holds: stored, queued or shown, and no turn has begun with it.
   * Absent once a turn has consumed it, or once it is certain that the prompt is nowhere. While the surface cannot
   * tell, the field stays: the daemon sends no other doorbell as long as it is set, however long that takes.
   */
  outstanding_doorbell_id: DoorbellId.optional(),
  /** A person interrupted the last turn and has sent nothing since. */
  interrupted: z.literal(true).optional(),
  /**
   * The process that runs the agent's turns. Another one under the same session: the former ended, and its turn with it.
   * Absent where the surface cannot tell.
   */
  instance_id: InstanceId.optional(),
  /** A session runs, but no window shows it. The daemon rings such a session only if the persona is headless. */
  window: z.literal(false).optional(),
  /** The shim runs, but nobody is there whom it could ring; for the daemon that is no surface. */
  absent: z.literal(true).optional(),
})
export type SurfaceStatus = z.infer<typeof SurfaceStatus>

/** A report that sets `take` can carry a doorbell to the agent in this very answer. */
export const SurfaceReport = SurfaceStatus.extend({ take: z.boolean().optional() })
export type SurfaceReport = z.infer<typeof SurfaceReport>

export const ReportAnswer = z.object({ doorbell: Doorbell.nullable() })
export type ReportAnswer = z.infer<typeof ReportAnswer>
