/**
 * Schema of the configuration, for file, environment and flags. Precedence: default < `config.yaml` < environment <
 * flag. Unknown keys are errors. Secrets are given only by reference.
 */
import * as z from 'zod'
import { ClientKind, FacetName, PersonaName, SurfaceKind, TenantId } from './ids.ts'
import { SandboxPolicy } from './sandbox-policy.ts'
import { LIMITS } from './limits/limits.ts'
import { Routine, RoutineName, WorkflowSettings } from './runs/routine.ts'

/** Default port of a hub. */
export const HUB_PORT = 4888

/** URL of a hub. */
export const HubUrl = z.url({ protocol: /^https?$/, error: 'expected an http:// or https:// address' })

/** Command that the `command` surface runs for each doorbell. */
export const CommandSettings = z.strictObject({
  /** Program and arguments; no shell. The doorbell arrives as one JSON line on stdin. */
  argv: z.array(z.string().min(1)).min(1),
  timeout_ms: z.number().int().min(100).max(600_000).default(LIMITS.command_timeout_ms),
  /** Path of a file that contains `idle` or `busy`. Without it the turn lasts until the program exits. */
  status_file: z.string().min(1).optional(),
})
export type CommandSettings = z.infer<typeof CommandSettings>

/** Agent that speaks the Agent Client Protocol on its standard streams. */
export const AcpSettings = z.strictObject({
  /** Program and arguments; no shell. */
  argv: z.array(z.string().min(1)).min(1),
})
export type AcpSettings = z.infer<typeof AcpSettings>

/** Pane that the `tmux` surface types into. */
export const TmuxSettings = z.strictObject({
  /** Target in tmux notation: `work:0.1` or `%3`. */
  pane: z.string().min(1),
  /** Client in the pane; detected by its program name by default. */
  client: ClientKind.optional(),
  /** Socket of the tmux server, if it is not the default one. */
  socket: z.string().min(1).optional(),
})
export type TmuxSettings = z.infer<typeof TmuxSettings>

/** Surfaces that accept a key which not all surfaces accept. */
const KEYS_OF: Record<'command' | 'tmux' | 'acp' | 'headless', readonly SurfaceKind[]> = {
  command: ['command'],
  tmux: ['tmux'],
  acp: [...ClientKind.options, 'command'],
  headless: ClientKind.options,
}

/** Response to the permission requests of an agent without a user. */
export const Permissions = z.enum(['reject', 'allow'])
export type Permissions = z.infer<typeof Permissions>

export const PersonaSettings = z
  .strictObject({
    surface: SurfaceKind,
    /** Working directory of the agent; required if the daemon starts the agent. */
    project: z.string().min(1).optional(),
    command: CommandSettings.optional(),
    tmux: TmuxSettings.optional(),
    /** The daemon runs this agent and communicates by the Agent Client Protocol. */
    acp: AcpSettings.optional(),
    /** The daemon runs a session of the client without a window. */
    headless: z.boolean().optional(),
    /** Default: `reject`. */
    permissions: Permissions.optional(),
  })
  .superRefine((persona, context) => {
    for (const [key, surfaces] of Object.entries(KEYS_OF)) {
      const given = persona[key as keyof typeof KEYS_OF]
      if (given === undefined || given === false || surfaces.includes(persona.surface)) continue
      const message = `belongs to the surface ${surfaces.join(' or ')}, not to ${persona.surface}`
      context.addIssue({ code: 'custom', path: [key], message })
    }
    if (persona.surface === 'tmux' && persona.tmux === undefined) {
      const message = 'is needed by the surface tmux: { pane: ... } is where its client runs'
      context.addIssue({ code: 'custom', path: ['tmux'], message })
    }
    if (persona.acp !== undefined && (persona.command !== undefined || persona.headless)) {
      const message = 'keeps the agent by itself; leave out `command` and `headless`'
      context.addIssue({ code: 'custom', path: ['acp'], message })
    }
  })
export type PersonaSettings = z.infer<typeof PersonaSettings>

const NotifySettings = z.strictObject({
  /**
   * Program and arguments that the hub runs for each signal to the person (`operator`). Stdin is a JSON notice without
   * the payload: `{signal_id, from, intent, priority, pending_count}`.
   */
  command: z.array(z.string().min(1)).min(1).optional(),
})
export type NotifySettings = z.infer<typeof NotifySettings>

export const Config = z.strictObject({
  tenant_id: TenantId.default('local'),
  hub: z
    .strictObject({
      host: z.string().min(1).default('127.0.0.1'),
      /** Default: `HUB_PORT`, or another port if that is in use. */
      port: z.number().int().min(0).max(65_535).optional(),
      /** `file:` stores the queue in the home. */
      store: z
        .string()
        .regex(/^(memory:|file:.*)$/, 'expected file: or memory:')
        .default('file:'),
      tls_cert: z.string().min(1).optional(),
      tls_key: z.string().min(1).optional(),
      behind_proxy: z.boolean().default(false),
      /** URL for clients; derived from host and port by default. */
      url: HubUrl.optional(),
    })
    .prefault({}),
  daemon: z
    .strictObject({
      reconnect_ring: z.enum(['boundary', 'idle']).default('boundary'),
      reconnect_grace_ms: z.number().int().min(0).default(LIMITS.reconnect_grace_ms),
      reconnect_patience_ms: z.number().int().min(0).default(LIMITS.reconnect_patience_ms),
      bell_receipt_ms: z.number().int().min(100).default(LIMITS.bell_receipt_ms),
      redoorbell_max: z.number().int().min(0).max(100).default(LIMITS.redoorbell_max),
    })
    .prefault({}),
  mcp: z
    .strictObject({
      /** Facets that this hub exposes. Others are available only to tokens that name them. */
      expose: z.array(FacetName).default(['core']),
      /** Also exposes the pro facades of the exposed facets. */
      pro: z.boolean().default(false),
      /** Named lists of facades, to which a call can be narrowed. */
      intents: z.record(z.string().min(1).max(64), z.array(z.string().min(1).max(64))).default({}),
    })
    .prefault({}),
  /** Paths relative to the home, or packages installed there. */
  plugins: z.array(z.string().min(1).max(4096)).max(LIMITS.plugins_max).default([]),
  signals: z
    .strictObject({
      /** Default lifetime of a signal from an agent, in seconds. A signal from or to a person lives 30 days. */
      ttl_s: z.number().int().min(1).max(LIMITS.ttl_s_max).default(LIMITS.ttl_s_default),
    })
    .prefault({}),
  notify: NotifySettings.prefault({}),
  memory: z
    .strictObject({
      /** Directory of a sentence model for semantic search in the memory. */
      model_dir: z.string().min(1).optional(),
    })
    .prefault({}),
  activity: z
    .strictObject({
      /** What is stored of the agents' work: everything, no texts, or nothing. */
      capture: z.enum(['full', 'facts', 'off']).default('full'),
      /** Globs. What matches is not stored: the texts of calls with such a path or tool, all of such a project. */
      deny: z.array(z.string().min(1).max(1_024)).max(LIMITS.activity_deny_max).default([]),
      /** Activity that is older is deleted. */
      retention_days: z.number().int().min(1).max(3_650).default(LIMITS.activity_retention_days),
      /** The oldest activity is deleted when the database is larger. */
      bytes_max: z
        .number()
        .int()
        .min(16 * 1024 ** 2)
        .default(LIMITS.activity_bytes_max),
    })
    .prefault({}),
  log: z
    .strictObject({ level: z.enum(['trace', 'debug', 'info', 'warn', 'error', 'silent']).default('info') })
    .prefault({}),
  clients: z
    .strictObject({
      /** Path of the client program, if it is not the one on PATH. */
      claude_code: z.string().min(1).optional(),
      codex: z.string().min(1).optional(),
      opencode: z.string().min(1).optional(),
    })
    .prefault({}),
  claude_code: z
    .strictObject({
      /** Whether the module inside Claude Code reports turns and submits doorbells; otherwise hooks do. */
      module: z.boolean().default(true),
      /** Whether the module shows the persona, its queue, the team and the person's inbox in the client. */
      ui: z.boolean().default(true),
    })
    .prefault({}),
  personas: z.record(PersonaName, PersonaSettings).default({}),
  /** Sequences of steps that `routine run` runs as one call. */
  routines: z.record(RoutineName, Routine).default({}),
  sandbox: SandboxPolicy.prefault({}),
  workflow: WorkflowSettings.prefault({}),
})
export type Config = z.infer<typeof Config>
export type ConfigInput = z.input<typeof Config>
