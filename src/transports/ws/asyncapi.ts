/**
 * The WebSocket protocol as an AsyncAPI 3.0 document, generated from the frames that the hub parses and sends. Written from
 * the side of the hub: `receive` for frames of clients, `send` for frames of the hub.
 */
import type { z } from 'zod'
import { CHANNEL_NOTES, CLOSE_NOTES, WS_LIMITS } from './channel-notes.ts'
import { inBytes, inMinutes, inSeconds } from '../../contracts/text/units.ts'
import { Config, HUB_PORT } from '../../contracts/config.ts'
import { ErrorClass, Retry } from '../../contracts/errors/errors.ts'
import {
  Channel,
  ClientFrame,
  CLOSE,
  CRITICAL_EVENTS,
  HubFrame,
  PendingEntry,
  RequestId,
} from '../../contracts/frames.ts'
import { CallerContext, Narrowing } from '../../contracts/http.ts'
import {
  Identity,
  Json,
  RegistrationKind,
  SessionId,
  SurfaceKind,
  Timestamp,
  Ulid,
} from '../../contracts/ids.ts'
import { LIMITS } from '../../contracts/limits/limits.ts'
import { DaemonErrorClass, MetricsSet } from '../../contracts/metrics.ts'
import { LeaveReason, SurfaceFacts, Turn } from '../../contracts/registry.ts'
import { namedSchemas, type JsonSchema } from '../../kernel/schema.ts'

const PATH = '/ws'

/** Schemas that several frames share: defined once and referenced. */
const SHARED: Record<string, z.ZodType> = {
  CallerContext,
  Channel,
  DaemonErrorClass,
  ErrorClass,
  Identity,
  Json,
  LeaveReason,
  MetricsSet,
  Narrowing,
  PendingEntry,
  RegistrationKind,
  RequestId,
  Retry,
  SessionId,
  SurfaceFacts,
  SurfaceKind,
  Timestamp,
  Turn,
  Ulid,
}

/** `version` is the hub's. */
export function describeWebSocket(version: string): object {
  const client = directionOf(ClientFrame, 'input')
  const hub = directionOf(HubFrame, 'output')
  const types = [...Object.keys(client.frames), ...Object.keys(hub.frames)]
  return {
    asyncapi: '3.0.0',
    id: 'urn:turnbell:hub:ws',
    info: {
      title: 'turnbell hub, WebSocket',
      version,
      description: [
        'Durable signals for teams of coding agents: the link between a hub and its daemons, agents and observers.',
        'Operations are described from the side of the hub: it receives frames of clients and sends frames to them.',
      ].join(' '),
      license: { name: 'MIT' },
    },
    defaultContentType: 'application/json',
    servers: servers(),
    channels: { ws: wsChannel(types), ...namedChannels() },
    operations: { ...clientOperations(client.notes), ...hubOperations(hub.notes), ...channelOperations() },
    components: {
      messages: { ...messages(client), ...messages(hub) },
      schemas: together(hub.shared, client.shared),
      securitySchemes: SECURITY,
    },
  }
}

interface FrameUnion {
  options: readonly (z.ZodType & { shape: { type: z.ZodLiteral<string> } })[]
}

interface FrameNote {
  summary: string
  description?: string
  examples: readonly object[]
}

/** Response to each client frame. A refusal is always an `error`. */
const REPLIES: Partial<Record<ClientFrame['type'], HubFrame['type']>> = {
  hello: 'welcome',
  'pending.peek': 'pending',
  subscribe: 'result',
  unsubscribe: 'result',
  publish: 'result',
  call: 'result',
  ping: 'pong',
}

interface Direction {
  /** Schemas of the frames by type, their notes, and the shared schemas that they use. */
  frames: Record<string, JsonSchema>
  notes: Record<string, FrameNote>
  shared: Record<string, JsonSchema>
}

function directionOf(union: FrameUnion, io: 'input' | 'output'): Direction {
  const frames = Object.fromEntries(union.options.map((frame) => [frame.shape.type.value, frame]))
  const schemas = namedSchemas({ ...SHARED, ...frames }, io, (name) => `#/components/schemas/${name}`)
  const entries = Object.entries(schemas)
  const used = usedBy(schemas, Object.keys(frames))
  return {
    frames: Object.fromEntries(
      entries.filter(([name]) => name in frames).map(([name, schema]) => [name, withoutNotes(schema)]),
    ),
    notes: Object.fromEntries(Object.entries(frames).map(([type, frame]) => [type, noteOf(type, frame)])),
    shared: Object.fromEntries(entries.filter(([name]) => name in SHARED && used.has(name))),
  }
}

/** The message contains the description and the examples of its frame, so the payload's schema does not. */
function withoutNotes({ description: _, examples: __, ...schema }: JsonSchema): JsonSchema {
  return schema
}

/** The summary is the first sentence of the frame's description. */
function noteOf(type: string, frame: z.ZodType): FrameNote {
  const { description, examples } = frame.meta() ?? {}
  const [, summary, more] = /^(.+?\.)(?: (.+))?$/s.exec(description ?? '') ?? []
  if (summary === undefined || !Array.isArray(examples)) throw new Error(`frame ${type} is not described`)
  return { summary, ...(more !== undefined && { description: more }), examples: examples as object[] }
}

/** A schema of both directions must be the same for input and output: defaults and stripped fields would make two. */
function together(a: Record<string, JsonSchema>, b: Record<string, JsonSchema>): Record<string, JsonSchema> {
  for (const [name, form] of Object.entries(a))
    if (name in b && JSON.stringify(b[name]) !== JSON.stringify(form))
      throw new Error(`${name} has one form from the hub and another from its clients`)
  return { ...a, ...b }
}

/** Returns these names and everything that they reference. */
function usedBy(schemas: Record<string, JsonSchema>, names: readonly string[]): Set<string> {
  const used = new Set<string>()
  const visit = (name: string) => {
    if (used.has(name)) return
    used.add(name)
    for (const [, next] of JSON.stringify(schemas[name]).matchAll(/"#\/components\/schemas\/([^"]+)"/g))
      if (next !== undefined) visit(next)
  }
  names.forEach(visit)
  return used
}

function servers(): object {
  const { host } = Config.parse({}).hub
  const at = {
    host: '{host}:{port}',
    variables: {
      host: { default: host, description: '`hub.host` of the configuration.' },
      port: { default: String(HUB_PORT), description: '`hub.port` of the configuration.' },
    },
    security: Object.keys(SECURITY).map((name) => ({ $ref: `#/components/securitySchemes/${name}` })),
    bindings: { ws: {} },
  }
  return {
    hub: { ...at, protocol: 'ws', description: 'The default: the hub listens on this machine only.' },
    hub_tls: { ...at, protocol: 'wss', description: 'With `--tls-cert` and `--tls-key`, or behind a proxy.' },
  }
}

const SECURITY = {
  bearer: {
    type: 'http',
    scheme: 'bearer',
    description: 'The token in the `Authorization` header of the upgrade.',
  },
  query: {
    type: 'httpApiKey',
    in: 'query',
    name: 'token',
    description: 'For clients that cannot send headers. Logs never show it.',
  },
  hello: {
    type: 'apiKey',
    in: 'password',
    description: 'The field `token` of the frame `hello`; it counts before the other two.',
  },
}

function wsChannel(types: readonly string[]): object {
  return {
    address: PATH,
    title: 'The link',
    description: rules(),
    messages: Object.fromEntries(types.map((type) => [type, { $ref: `#/components/messages/${type}` }])),
    bindings: {
      ws: {
        method: 'GET',
        query: {
          type: 'object',
          properties: { token: { type: 'string', description: SECURITY.query.description } },
        },
        headers: {
          type: 'object',
          properties: { Authorization: { type: 'string', description: '`Bearer TOKEN`.' } },
        },
        bindingVersion: '0.1.0',
      },
    },
    'x-close-codes': Object.fromEntries(
      Object.entries(CLOSE_NOTES).map(([name, note]) => [CLOSE[name as keyof typeof CLOSE], note]),
    ),
    'x-limits': Object.fromEntries(WS_LIMITS.map((name) => [name, LIMITS[name]])),
  }
}

function rules(): string {
  const closes = Object.entries(CLOSE_NOTES).map(
    ([name, note]) => `- ${CLOSE[name as keyof typeof CLOSE]}: ${note}`,
  )
  const channels = Object.values(CHANNEL_NOTES).map(({ name, summary }) => `- \`${name}\`: ${summary}`)
  return [
    `Frames are JSON objects in text messages, at most ${inBytes(LIMITS.frame_bytes_max)} each; a larger one closes the link with the protocol's close code 1009. \`type\` names the kind of frame. The first frame must be \`hello\`, within ${inSeconds(LIMITS.hello_timeout_ms)}. A malformed or rejected frame is answered with \`error\`. The answer to a frame with an \`id\` has the same \`id\`.`,
    `A client sends a heartbeat every ${inSeconds(LIMITS.heartbeat_interval_ms)}. The hub pings every ${inSeconds(LIMITS.ws_ping_interval_ms)} and terminates links that are silent for ${inSeconds(LIMITS.ws_silence_max_ms)}.`,
    `Events with the prefix ${CRITICAL_EVENTS.map((prefix) => `\`${prefix}\``).join(' or ')} are critical: the client must acknowledge them with an \`ack\` of their \`id\`. An unacknowledged event is resent after ${inSeconds(LIMITS.critical_resend_ms)} (checked every ${inSeconds(LIMITS.critical_check_ms)}) and dropped after ${LIMITS.critical_tries_max} tries. All other events are sent once.`,
    ['Channels:', '', ...channels].join('\n'),
    `The subscriptions of an agent that names its \`session_id\` and reconnects within ${inMinutes(LIMITS.lease_ms)} are restored; other clients must subscribe again.`,
    ['Close codes:', '', ...closes].join('\n'),
  ].join('\n\n')
}

/** Channels have no address: one link transports all of them, and each `event` names its channel. */
function namedChannels(): object {
  return Object.fromEntries(
    Object.entries(CHANNEL_NOTES).map(([key, { name, summary, listeners, publishers }]) => [
      key,
      {
        address: null,
        title: name,
        summary,
        description: `${summary} Subscribers: ${listeners} Publishers: ${publishers}`,
        messages: { event: { $ref: '#/components/messages/event' } },
      },
    ]),
  )
}

function messages({ frames, notes }: Direction): object {
  return Object.fromEntries(
    Object.entries(frames).map(([type, payload]) => {
      const { examples = [], ...words } = notes[type] ?? {}
      const message = {
        name: type,
        title: type,
        ...words,
        ...(hasId(payload) ? { correlationId: { location: '$message.payload#/id' } } : {}),
        payload,
        examples: examples.map((example) => ({ payload: example })),
      }
      return [type, message]
    }),
  )
}

/** The id of an event does not refer to a request of the client. */
function hasId({ properties }: JsonSchema): boolean {
  const id = (properties as Record<string, JsonSchema>)['id']
  return id?.['$ref'] === '#/components/schemas/RequestId'
}

function clientOperations(notes: Direction['notes']): object {
  return Object.fromEntries(
    Object.entries(notes).map(([type, { summary }]) => {
      const reply = REPLIES[type as ClientFrame['type']]
      const operation = {
        action: 'receive',
        ...at('ws', type),
        summary,
        ...(reply === undefined ? {} : { reply: at('ws', reply, 'error') }),
      }
      return [`receive_${identifier(type)}`, operation]
    }),
  )
}

function hubOperations(notes: Direction['notes']): object {
  return Object.fromEntries(
    Object.entries(notes).map(([type, { summary }]) => [
      `send_${identifier(type)}`,
      { action: 'send', ...at('ws', type), summary },
    ]),
  )
}

function channelOperations(): object {
  return Object.fromEntries(
    Object.entries(CHANNEL_NOTES).map(([key, { summary }]) => [
      `send_event_on_${key}`,
      { action: 'send', ...at(key, 'event'), summary },
    ]),
  )
}

function at(channel: string, ...types: string[]): object {
  return {
    channel: { $ref: `#/channels/${channel}` },
    messages: types.map((type) => ({ $ref: `#/channels/${channel}/messages/${type}` })),
  }
}

function identifier(type: string): string {
  return type.replaceAll('.', '_')
}
