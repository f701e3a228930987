/**
 * One schema for file, environment and flags. Order: default < `config.yaml` < environment < flag.
 * An unknown key is an error. A secret is only ever given by reference.
 */
import * as z from 'zod'
import { ClientKind, FacetName, PersonaName, SurfaceKind, TenantId } from './ids.ts'
import { Leash } from './leash.ts'
import { LIMITS } from './limits.ts'
import { Routine, RoutineName, WorkflowSettings } from './routine.ts'

/** The port of a hub whose configuration names none. */
export const HUB_PORT = 4888

/** Where a hub is called. */
export const HubUrl = z.url({ protocol: /^https?$/, error: 'expected an http:// or https:// address' })

/** What the `command` surface runs for each doorbell. */
export const CommandSettings = z.strictObject({
  /** Program and arguments; no shell. The doorbell arrives as one JSON line on stdin. */
  argv: z.array(z.string().min(1)).min(1),
  timeout_ms: z.number().int().min(100).max(600_000).default(LIMITS.command_timeout_ms),
  /** A file holding `idle` or `busy`; without it the turn lasts as long as the program runs. */
  status_file: z.string().min(1).optional(),
})
export type CommandSettings = z.infer<typeof CommandSettings>

/** An agent that speaks the Agent Client Protocol on its standard streams. */
export const AcpSettings = z.strictObject({
  /** Program and arguments; no shell. */
  argv: z.array(z.string().min(1)).min(1),
})
export type AcpSettings = z.infer<typeof AcpSettings>

/** The pane that the `tmux` surface types into. */
export const TmuxSettings = z.strictObject({
  /** As tmux names it: `work:0.1` or `%3`. */
  pane: z.string().min(1),
  /** What runs there; found out by its program when absent. */
  client: ClientKind.optional(),
  /** The socket of the tmux server, where it is not the usual one. */
  socket: z.string().min(1).optional(),
})
export type TmuxSettings = z.infer<typeof TmuxSettings>

/** The keys that a surface needs or that only some surfaces know. */
const KEYS_OF: Record<'command' | 'tmux' | 'acp' | 'headless', readonly SurfaceKind[]> = {
  command: ['command'],
  tmux: ['tmux'],
  acp: [...ClientKind.options, 'command'],
  headless: ClientKind.options,
}

/** What an agent that nobody watches is answered when it asks leave to do something. */
export const Permissions = z.enum(['reject', 'allow'])
export type Permissions = z.infer<typeof Permissions>

export const PersonaSettings = z
  .strictObject({
    surface: SurfaceKind,
    /** Where its agent works; needed where the daemon starts the agent itself. */
    project: z.string().min(1).optional(),
    command: CommandSettings.optional(),
    tmux: TmuxSettings.optional(),
    /** The daemon keeps this agent, and talks to it by the Agent Client Protocol. */
    acp: AcpSettings.optional(),
    /** No window: the daemon keeps a session of the client by itself. */
    headless: z.boolean().optional(),
    /** Usually `reject`. */
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
      const message = 'is needed by the surface tmux: { pane: ... } says where its client runs'
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
   * Program and arguments that the hub runs for each signal to the person (`operator`). It gets a notice as JSON on stdin:
   * `{signal_id, from, intent, priority, pending_count}`, without what the signal says.
   */
  command: z.array(z.string().min(1)).min(1).optional(),
})
export type NotifySettings = z.infer<typeof NotifySettings>

export const Config = z.strictObject({
  tenant_id: TenantId.default('local'),
  hub: z
    .strictObject({
      host: z.string().min(1).default('127.0.0.1'),
      /** Where it is not set: `HUB_PORT`, or another one where that is taken. */
      port: z.number().int().min(0).max(65_535).optional(),
      /** `file:` keeps the queue in the home. */
      store: z
        .string()
        .regex(/^(memory:|file:.*)$/, 'expected file: or memory:')
        .default('file:'),
      tls_cert: z.string().min(1).optional(),
      tls_key: z.string().min(1).optional(),
      behind_proxy: z.boolean().default(false),
      /** Where clients find the hub; made from host and port when absent. */
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
      /** The facets that this hub offers; what lies outside exists only for whoever has a token that names it. */
      expose: z.array(FacetName).default(['core']),
      /** Offers the pro facades of exposed facets, too. */
      pro: z.boolean().default(false),
      /** Names for lists of facades, by which a call may be narrowed to what it is for. */
      intents: z.record(z.string().min(1).max(64), z.array(z.string().min(1).max(64))).default({}),
    })
    .prefault({}),
  /** Paths, from the home, or packages that are installed there. */
  plugins: z.array(z.string().min(1).max(4096)).max(LIMITS.plugins_max).default([]),
  signals: z
    .strictObject({
      /** Lifetime in seconds of what an agent sends without a `ttl_s`; what a person sends or is sent lives 30 days. */
      ttl_s: z.number().int().min(1).max(LIMITS.ttl_s_max).default(LIMITS.ttl_s_default),
    })
    .prefault({}),
  notify: NotifySettings.prefault({}),
  memory: z
    .strictObject({
      /** The folder of a sentence model, by which memory is searched for what texts mean. */
      model_dir: z.string().min(1).optional(),
    })
    .prefault({}),
  log: z
    .strictObject({ level: z.enum(['trace', 'debug', 'info', 'warn', 'error', 'silent']).default('info') })
    .prefault({}),
  clients: z
    .strictObject({
      /** Path of the client's program, where it is not the one on PATH. */
      claude_code: z.string().min(1).optional(),
      codex: z.string().min(1).optional(),
      opencode: z.string().min(1).optional(),
    })
    .prefault({}),
  personas: z.record(PersonaName, PersonaSettings).default({}),
  /** Steps that are run as one call: `routine run`. */
  routines: z.record(RoutineName, Routine).default({}),
  leash: Leash.prefault({}),
  workflow: WorkflowSettings.prefault({}),
})
export type Config = z.infer<typeof Config>
export type ConfigInput = z.input<typeof Config>
