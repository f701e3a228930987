/** Tests that the AsyncAPI document matches the hub's own schemas for every frame. */
import { AjvJsonSchemaValidator } from '@modelcontextprotocol/server/validators/ajv'
import { describe, expect, test } from 'vitest'
import { Channel, ClientFrame, CLOSE, HubFrame } from '../../../src/contracts/frames.ts'
import { LIMITS } from '../../../src/contracts/limits/limits.ts'
import { describeWebSocket } from '../../../src/transports/ws/asyncapi.ts'
import { WS_LIMITS } from '../../../src/transports/ws/channel-notes.ts'

interface Ref {
  $ref: string
}
interface Message {
  payload: { properties: Record<string, { const?: unknown }> }
  examples: { payload: unknown }[]
  correlationId?: object
}
interface Operation {
  action: 'send' | 'receive'
  channel: Ref
  messages: Ref[]
  reply?: { channel: Ref; messages: Ref[] }
}
interface Document {
  servers: Record<string, { host: string; protocol: string; security: Ref[] }>
  channels: Record<
    string,
    Record<string, unknown> & { address: string | null; messages: Record<string, Ref> }
  >
  operations: Record<string, Operation>
  components: { messages: Record<string, Message>; schemas: Record<string, object> }
}

const document = describeWebSocket('1.2.3') as unknown as Document
const link = document.channels['ws'] as Document['channels'][string]
const said = ClientFrame.options.map(({ shape }): string => shape.type.value)
const heard = HubFrame.options.map(({ shape }): string => shape.type.value)
const frames = [...said, ...heard]

const message = (type: string) => document.components.messages[type] as Message
const typeOf = ({ $ref }: Ref) => $ref.slice($ref.lastIndexOf('/') + 1)
const onLink = Object.values(document.operations).filter(({ channel }) => channel.$ref === '#/channels/ws')

const validators = new AjvJsonSchemaValidator()
const fits = (type: string, frame: unknown) =>
  validators.getValidator({ ...message(type).payload, components: document.components } as Parameters<
    typeof validators.getValidator
  >[0])(frame).valid
const parses = (type: string, frame: unknown) =>
  (said.includes(type) ? ClientFrame : HubFrame).safeParse(frame).success

function refsIn(value: unknown): string[] {
  if (Array.isArray(value)) return value.flatMap(refsIn)
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([key, part]) => (key === '$ref' ? [String(part)] : refsIn(part)))
}

function resolved(ref: string): unknown {
  const path = ref.slice(2).split('/')
  return path.reduce<unknown>((at, key) => (at as Record<string, unknown> | undefined)?.[key], document)
}

describe('every frame', () => {
  test('every frame is one message of the link', () => {
    expect(Object.keys(document.components.messages).sort()).toEqual([...frames].sort())
    expect(Object.keys(link.messages).sort()).toEqual([...frames].sort())
    for (const type of frames) expect(message(type).payload.properties['type']?.const).toBe(type)
  })

  test('every frame is received or sent by the hub, in one operation', () => {
    const types = (action: string) =>
      onLink
        .filter((operation) => operation.action === action)
        .flatMap((operation) => operation.messages.map(typeOf))
    expect(types('receive')).toEqual(said)
    expect(types('send')).toEqual(heard)
  })

  test('every frame with an id has a response', () => {
    for (const operation of onLink.filter(({ action }) => action === 'receive')) {
      const [type = ''] = operation.messages.map(typeOf)
      const answers = operation.reply?.messages.map(typeOf) ?? []
      if (message(type).correlationId === undefined) continue
      expect(answers, type).toHaveLength(2)
      for (const answer of answers) expect(message(answer).correlationId, answer).toBeDefined()
    }
    const replyTo = (type: string) =>
      document.operations[`receive_${type}`]?.reply?.messages
        .map(typeOf)
        .filter((answer) => answer !== 'error')
    expect(replyTo('pending_peek')).toEqual(['pending'])
    expect(replyTo('hello')).toEqual(['welcome'])
    expect(replyTo('ping')).toEqual(['pong'])
    expect(replyTo('heartbeat')).toBeUndefined()
    for (const type of ['subscribe', 'unsubscribe', 'publish', 'call'])
      expect(replyTo(type)).toEqual(['result'])
  })

  test.each(frames)('%s has examples that are valid in the document and for the hub', (type) => {
    expect(message(type).examples.length).toBeGreaterThan(0)
    for (const { payload } of message(type).examples) {
      expect(fits(type, payload)).toBe(true)
      expect(parses(type, payload)).toBe(true)
    }
  })
})

describe('a frame that the hub refuses, the document refuses', () => {
  const [ping, id, channel] = [{ type: 'ping' }, 1, 'topics/deploys']
  test.each([
    ['another type', 'ping', { type: 'pong' }],
    ['no type', 'ping', {}],
    ['an unknown field', 'ping', { ...ping, shout: true }],
    ['another protocol', 'hello', { type: 'hello', protocol: 2, kind: 'agent', identity: 'bob' }],
    ['an identity in capitals', 'hello', { type: 'hello', protocol: 1, kind: 'agent', identity: 'Bob' }],
    ['an unknown kind', 'hello', { type: 'hello', protocol: 1, kind: 'operator', identity: 'bob' }],
    ['no id', 'subscribe', { type: 'subscribe', channel }],
    ['an empty id', 'subscribe', { type: 'subscribe', id: '', channel }],
    ['a truncated id', 'unsubscribe', { type: 'unsubscribe', id: 1.5, channel }],
    ['an invalid channel', 'subscribe', { type: 'subscribe', id, channel: '../etc' }],
    ['no data', 'publish', { type: 'publish', id, channel, event: 'x' }],
    [
      'a limit that is too large',
      'pending.peek',
      { type: 'pending.peek', id, limit: LIMITS.peek_limit_max + 1 },
    ],
    ['parameters in a list', 'call', { type: 'call', id, facade: 'signals', action: 'read', params: [] }],
    ['a stage that is none', 'doorbell', { type: 'doorbell', doorbell_id: 'x', signal_id: 'y', stage: 'z' }],
    ['a turn that is none', 'heartbeat', { type: 'heartbeat', seq: 1, surface: { turn: 'late' } }],
    ['a seq below zero', 'heartbeat', { type: 'heartbeat', seq: -1 }],
    ['a number for an ack', 'ack', { type: 'ack', message_id: 7 }],
    [
      'a push with a payload',
      'signal.pushed',
      { ...(message('signal.pushed').examples[0]?.payload as object), payload: 'secret' },
    ],
  ])('a frame rejected by the hub is invalid in the document: %s', (_, type, frame) => {
    expect(parses(type, frame)).toBe(false)
    expect(fits(type, frame)).toBe(false)
  })
})

describe('the document', () => {
  test('the document refers only to existing parts', () => {
    const refs = refsIn(document)
    expect(refs.length).toBeGreaterThan(100)
    for (const ref of refs) expect(resolved(ref), ref).toBeDefined()
  })

  test('the document defines shared parts once, and no unused ones', () => {
    const text = JSON.stringify(document)
    for (const [name, schema] of Object.entries(document.components.schemas)) {
      // A text with a length limit may be the form of two things.
      if (Object.keys(schema).some((key) => !['type', 'minLength', 'maxLength'].includes(key)))
        expect(text.split(JSON.stringify(schema)), name).toHaveLength(2)
      expect(text, name).toContain(`"$ref":"#/components/schemas/${name}"`)
    }
  })

  test('the document describes every kind of channel, under a name that can be subscribed to', () => {
    const names = Object.values(document.channels)
      .filter(({ address }) => address === null)
      .map(({ title }) => String(title))
    for (const name of names) expect(Channel.safeParse(name.replace(/\{\w+\}/, 'x')).success, name).toBe(true)
    const pattern = (document.components.schemas['Channel'] as { pattern: string }).pattern
    const kinds = [...pattern.matchAll(/[(|](\w+)/g)].map(([, kind]) => kind)
    expect(names.map((name) => name.split('/')[0]).sort()).toEqual(kinds.sort())
  })

  test('the document contains the close codes and limits of the hub', () => {
    expect(
      Object.keys(link['x-close-codes'] as object)
        .map(Number)
        .sort(),
    ).toEqual(Object.values(CLOSE).sort())
    expect(link['x-limits']).toEqual(Object.fromEntries(WS_LIMITS.map((name) => [name, LIMITS[name]])))
  })

  test('the document contains the address of the hub and the three ways to send a token', () => {
    expect(link.address).toBe('/ws')
    expect(Object.values(document.servers).map(({ protocol }) => protocol)).toEqual(['ws', 'wss'])
    for (const { host, security } of Object.values(document.servers)) {
      expect(host).toBe('{host}:{port}')
      expect(security.map(typeOf)).toEqual(['bearer', 'query', 'hello'])
    }
  })

  test('the document is reproducible', () => expect(describeWebSocket('1.2.3')).toEqual(document))
})
