/** Personas, projects and registrations of connected sessions. */
import * as z from 'zod'
import {
  Identity,
  InstanceId,
  ProjectId,
  RegistrationKind,
  SessionId,
  SurfaceKind,
  Timestamp,
} from './ids.ts'
import { LIMITS } from './limits/limits.ts'

/** `wrapped` and `removed` personas do not accept signals; adding one again makes it `active`. */
export const PersonaState = z.enum(['active', 'wrapped', 'removed'])
export type PersonaState = z.infer<typeof PersonaState>

/** Persistent identity with a queue. Whether it runs is a matter of registrations. */
export const Persona = z
  .object({
    identity: Identity,
    surface: SurfaceKind,
    state: PersonaState,
    project_id: ProjectId.optional(),
    created_at: Timestamp,
    updated_at: Timestamp,
  })
  .meta({ title: 'Persona' })
export type Persona = z.infer<typeof Persona>

/** Short name of a project. `portfolio` is reserved for all projects. */
export const ProjectAlias = z
  .string()
  .regex(/^(?!portfolio$)[a-z0-9][a-z0-9._-]{0,62}$/, 'an alias matches [a-z0-9][a-z0-9._-]{0,62}')

export const Project = z
  .object({
    project_id: ProjectId,
    root: z.string(),
    name: z.string().optional(),
    aliases: z.array(z.string()).default([]),
    created_at: Timestamp,
  })
  .meta({ title: 'Project' })
export type Project = z.infer<typeof Project>

export const Turn = z.enum(['idle', 'busy', 'unknown'])
export type Turn = z.infer<typeof Turn>

/** State of a surface as known to its daemon, sent with the heartbeat. */
export const SurfaceFacts = z
  .object({
    attached: z.boolean(),
    session_id: SessionId.nullable(),
    turn: Turn,
    turn_seq: z.number().int().min(0),
    /** Process that runs the session's turns. A new process has not seen what the previous one drained. */
    instance_id: InstanceId.optional(),
    /** The session has no window and the persona is not headless, so it is not rung. */
    window: z.literal(false).optional(),
    /** Session expected to return while none is attached; its drained signals stay leased. */
    returning_session_id: SessionId.optional(),
  })
  .meta({ title: 'SurfaceFacts' })
export type SurfaceFacts = z.infer<typeof SurfaceFacts>

/** Self-description of an agent, for reading only. */
export const AgentNotes = z.object({
  purpose: z.string().min(1).max(LIMITS.note_length_max).optional(),
  capabilities: z
    .array(z.string().min(1).max(LIMITS.capability_length_max))
    .max(LIMITS.capabilities_max)
    .optional(),
  note: z.string().min(1).max(LIMITS.note_length_max).optional(),
  /** In percent. */
  progress: z.number().min(0).max(100).optional(),
})
export type AgentNotes = z.infer<typeof AgentNotes>

/** Reason why a registration ended. `wrap`, `expire` and `preempt` invalidate the session's leases at once. */
export const LeaveReason = z.enum(['wrap', 'expire', 'preempt', 'close'])
export type LeaveReason = z.infer<typeof LeaveReason>

/** Row of the runtime registry. Key: identity, surface, kind. The epoch fences former holders. */
export const Registration = z
  .object({
    identity: Identity,
    surface: SurfaceKind,
    kind: RegistrationKind,
    session_id: SessionId,
    epoch: z.number().int(),
    connected: z.boolean(),
    joined_at: Timestamp,
    last_heartbeat_at: Timestamp,
    facts: SurfaceFacts.optional(),
    notes: AgentNotes.optional(),
  })
  .meta({ title: 'Registration' })
export type Registration = z.infer<typeof Registration>

/** Persona in lists, with its queue depth and registrations. */
export const PersonaOverview = Persona.extend({
  pending_count: z.number().int(),
  /** Number of stored expired signals; `signals replay` returns them to pending. */
  expired_count: z.number().int(),
  registrations: z.array(Registration),
}).meta({ title: 'PersonaOverview' })
export type PersonaOverview = z.infer<typeof PersonaOverview>
