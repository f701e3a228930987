/**
 * The WebSocket protocol as an AsyncAPI 3.0 document, from the frames that the hub parses and sends. It
 * speaks of the hub: `receive` is what clients say, `send` what they hear.
 */
import type { z } from 'zod'
import { CHANNEL_NOTES, CLOSE_NOTES, WS_LIMITS } from './channel-notes.ts'
import { CLIENT_FRAME_NOTES, HUB_FRAME_NOTES } from './frame-notes.ts'
import { inBytes, inMinutes, inSeconds } from '../units.ts'
import { Config, HUB_PORT } from '../../contracts/config.ts'
import { ErrorClass, Retry } from '../../contracts/errors.ts'
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
import { LIMITS } from '../../contracts/limits.ts'
import { DaemonErrorClass, MetricsSet } from '../../contracts/metrics.ts'
import { LeaveReason, SurfaceFacts, Turn } from '../../contracts/registry.ts'
import { namedSchemas, type JsonSchema } from '../../kernel/schema.ts'

const PATH = '/ws'

/** What frames have in common: named once, referred to everywhere else. */
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
  const client = formsOf(ClientFrame, 'input')
  const hub = formsOf(HubFrame, 'output')
  const types = [...Object.keys(client.frames), ...Object.keys(hub.frames)]
  return {
    asyncapi: '3.0.0',
    id: 'urn:turnbell:hub:ws',
    info: {
      title: 'turnbell hub, WebSocket',
      version,
      description: [
        'Durable signals for teams of coding agents: the link between a hub and its daemons, agents and observers.',
        'The operations are told from the side of the hub: it receives what clients say and sends what they hear.',
      ].join(' '),
      license: { name: 'MIT' },
    },
    defaultContentType: 'application/json',
    servers: servers(),
    channels: { ws: wsChannel(types), ...namedChannels() },
    operations: { ...clientOperations(), ...hubOperations(), ...channelOperations() },
    components: {
      messages: { ...messages(client.frames, CLIENT_FRAME_NOTES), ...messages(hub.frames, HUB_FRAME_NOTES) },
      schemas: together(hub.shared, client.shared),
      securitySchemes: SECURITY,
    },
  }
}

interface FrameUnion {
  options: readonly (z.ZodType & { shape: { type: z.ZodLiteral<string> } })[]
}

/** The frames of one direction by their types, and the shared schemas that they use. */
function formsOf(union: FrameUnion, io: 'input' | 'output') {
  const frames = Object.fromEntries(union.options.map((frame) => [frame.shape.type.value, frame]))
  const all = namedSchemas({ ...SHARED, ...frames }, io, (name) => `#/components/schemas/${name}`)
  const said = Object.entries(all)
  const used = usedBy(all, Object.keys(frames))
  return {
    frames: Object.fromEntries(said.filter(([name]) => name in frames)),
    shared: Object.fromEntries(said.filter(([name]) => name in SHARED && used.has(name))),
  }
}

/** What both directions use must be one form: a default or a stripped field would make it two. */
function together(a: Record<string, JsonSchema>, b: Record<string, JsonSchema>): Record<string, JsonSchema> {
  for (const [name, form] of Object.entries(a))
    if (name in b && JSON.stringify(b[name]) !== JSON.stringify(form))
      throw new Error(`${name} has one form from the hub and another from its clients`)
  return { ...a, ...b }
}

/** These names, and whatever is referred to from there. */
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
    hub: { ...at, protocol: 'ws', description: 'As a hub listens by itself: on this machine only.' },
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
    `Frames are JSON objects in text messages, at most ${inBytes(LIMITS.frame_bytes_max)} each; a larger one ends the link with the protocol's own 1009. \`type\` says which it is. \`hello\` comes first, within ${inSeconds(LIMITS.hello_timeout_ms)}. A frame that is none, or that is refused, is answered with \`error\`. A frame with an \`id\` gets an answer with the same \`id\`.`,
    `A client beats every ${inSeconds(LIMITS.heartbeat_interval_ms)}. The hub pings every ${inSeconds(LIMITS.ws_ping_interval_ms)} and cuts off who is silent for ${inSeconds(LIMITS.ws_silence_max_ms)}.`,
    `Events whose name begins with ${CRITICAL_EVENTS.map((beginning) => `\`${beginning}\``).join(' or ')} are critical: they are sent until \`ack\` names their \`id\`. It is checked every ${inSeconds(LIMITS.critical_check_ms)}; one that is ${inSeconds(LIMITS.critical_resend_ms)} old is sent again, and dropped after ${LIMITS.critical_tries_max} tries. All other events are sent once.`,
    ['Channels to listen to:', '', ...channels].join('\n'),
    `An agent that names its \`session_id\` and comes back within ${inMinutes(LIMITS.lease_ms)} listens again to what it did before; any other subscribes anew.`,
    ['Close codes:', '', ...closes].join('\n'),
  ].join('\n\n')
}

/** They have no address of their own: one link carries them all, and `event` says which it is. */
function namedChannels(): object {
  return Object.fromEntries(
    Object.entries(CHANNEL_NOTES).map(([key, { name, summary, listeners, publishers }]) => [
      key,
      {
        address: null,
        title: name,
        summary,
        description: `${summary} Listening: ${listeners} Publishing: ${publishers}`,
        messages: { event: { $ref: '#/components/messages/event' } },
      },
    ]),
  )
}

function messages(
  schemas: Record<string, JsonSchema>,
  notes: Record<string, { summary: string; more?: string; examples: readonly object[] }>,
): object {
  return Object.fromEntries(
    Object.entries(schemas).map(([type, payload]) => [
      type,
      {
        name: type,
        title: type,
        ...wordsOf(notes[type]),
        ...(hasId(payload) ? { correlationId: { location: '$message.payload#/id' } } : {}),
        payload,
        examples: notes[type]?.examples.map((example) => ({ payload: example })),
      },
    ]),
  )
}

/** An event's id is its own: nothing that the client said has it. */
function hasId({ properties }: JsonSchema): boolean {
  const id = (properties as Record<string, JsonSchema>)['id']
  return id?.['$ref'] === '#/components/schemas/RequestId'
}

function wordsOf(note: { summary: string; more?: string } | undefined): object {
  const { summary, more } = note ?? { summary: '' }
  return { summary, ...(more === undefined ? {} : { description: more }) }
}

function clientOperations(): object {
  return Object.fromEntries(
    Object.entries(CLIENT_FRAME_NOTES).map(([type, { answered_by, ...note }]) => [
      `receive_${identifier(type)}`,
      {
        action: 'receive',
        ...at('ws', type),
        summary: note.summary,
        ...(answered_by === undefined ? {} : { reply: at('ws', answered_by, 'error') }),
      },
    ]),
  )
}

function hubOperations(): object {
  return Object.fromEntries(
    Object.entries(HUB_FRAME_NOTES).map(([type, { summary }]) => [
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
