/** Personas, and who is currently connected for them. */
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
import { LIMITS } from './limits.ts'

/** `wrapped` and `removed` personas take no signals; adding one again makes it `active`. */
export const PersonaState = z.enum(['active', 'wrapped', 'removed'])
export type PersonaState = z.infer<typeof PersonaState>

/** A lasting identity with a queue. What the registry wants to be true, not what happens to run. */
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

/** A short name for a project. `portfolio` means all of them, and is none. */
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

/** What a daemon knows of its surface; travels with its heartbeat. */
export const SurfaceFacts = z
  .object({
    attached: z.boolean(),
    session_id: SessionId.nullable(),
    turn: Turn,
    turn_seq: z.number().int().min(0),
    /** The process that runs the session's turns: another one has not seen what the former had drained. */
    instance_id: InstanceId.optional(),
    /** It is not rung: no window shows the session, and the persona is not headless. */
    window: z.literal(false).optional(),
    /** The session that is expected back while none is attached: it keeps what it has drained. */
    returning_session_id: SessionId.optional(),
  })
  .meta({ title: 'SurfaceFacts' })
export type SurfaceFacts = z.infer<typeof SurfaceFacts>

/** What an agent tells others of itself. Words to read, never matched against anything. */
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

/** Why a registration ended. `wrap`, `expire` and `preempt` invalidate its session's leases at once. */
export const LeaveReason = z.enum(['wrap', 'expire', 'preempt', 'close'])
export type LeaveReason = z.infer<typeof LeaveReason>

/** One row of the runtime registry. Key: identity, surface, kind. The epoch fences older holders. */
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

/** A persona as lists show it: with what waits for it and who is there for it now. */
export const PersonaOverview = Persona.extend({
  pending_count: z.number().int(),
  /** Signals to it that expired and are still kept; `signals replay` puts them back. */
  expired_count: z.number().int(),
  registrations: z.array(Registration),
}).meta({ title: 'PersonaOverview' })
export type PersonaOverview = z.infer<typeof PersonaOverview>
