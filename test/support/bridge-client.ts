/** An official MCP client in front of a real bridge, both in this process, joined by two pipes. */
import { Client as PastClient } from '@modelcontextprotocol/sdk/client/index.js'
import {
  ResourceUpdatedNotificationSchema,
  ToolListChangedNotificationSchema,
} from '@modelcontextprotocol/sdk/types.js'
import { Client } from '@modelcontextprotocol/client'
import { PassThrough, Transform } from 'node:stream'
import * as z from 'zod'
import type { Clock } from '../../src/ports/clock.ts'
import { silentLog } from '../../src/ports/log.ts'
import { systemClock } from '../../src/system/clock.ts'
import { createIds, systemRandom } from '../../src/system/random.ts'
import { createBridge, type Bridge, type BridgeOptions } from '../../src/transports/bridge/bridge.ts'
import { stdioLines } from '../../src/transports/bridge/stdio-lines.ts'
import { createUpstream, type Upstream, type UpstreamDeps } from '../../src/transports/bridge/upstream.ts'

export interface ToolAnswer {
  isError?: boolean
  content: { type: string; text: string }[]
  structuredContent?: Record<string, unknown>
}

export interface BridgedClient {
  bridge: Bridge
  upstream: Upstream
  /** `meta` is what the request says of itself, here and below. */
  tools(meta?: Record<string, unknown>): Promise<string[]>
  call(
    name: string,
    args?: Record<string, unknown>,
    options?: { abort?: AbortSignal; meta?: Record<string, unknown> },
  ): Promise<ToolAnswer>
  resources(): Promise<string[]>
  /** Any method; for what the client itself would not send. */
  request(method: string, params?: Record<string, unknown>): Promise<unknown>
  /** From then on `updates` collects what the client is told. */
  subscribe(uri: string): Promise<void>
  updates: string[]
  /** How often it was told that the tools changed. */
  toolsChanged(): number
  /** Nothing the bridge writes reaches the client any more, and no write is taken, until `resume`. */
  pause(): void
  resume(): void
  close(): Promise<void>
}

export interface BridgedOptions {
  era: 'past' | 'present'
  upstream: Partial<UpstreamDeps> & Pick<UpstreamDeps, 'identity' | 'locate' | 'operatorToken'>
  bridge?: Partial<BridgeOptions>
}

export async function bridgedClient({ era, upstream, bridge }: BridgedOptions): Promise<BridgedClient> {
  const toBridge = new PassThrough()
  const toClient = new PassThrough()
  let held: (() => void)[] | null = null
  const gate = new Transform({
    transform(chunk, _encoding, done) {
      const pass = () => done(null, chunk)
      if (held === null) pass()
      else held.push(pass)
    },
    highWaterMark: 0,
  })
  gate.pipe(toClient)

  const up = createUpstream({
    session_id: () => 'session-1',
    query: '',
    version: '0.0.0',
    clock: systemClock,
    ...upstream,
  })
  const made = createBridge({
    upstream: up,
    transport: stdioLines(toBridge, gate),
    session_id: () => 'session-1',
    instructions: 'test',
    version: '0.0.0',
    ids: createIds(systemClock, systemRandom),
    clock: systemClock,
    log: silentLog,
    ...bridge,
  })
  const lines = stdioLines(toClient, toBridge)
  const client =
    era === 'past'
      ? new PastClient({ name: 'past', version: '1' })
      : new Client({ name: 'present', version: '1' }, { versionNegotiation: { mode: { pin: '2026-07-28' } } })
  const updates: string[] = []
  let changed = 0
  const told = ({ params }: { params: { uri: string } }) => void updates.push(params.uri)
  if (client instanceof PastClient) {
    client.setNotificationHandler(ResourceUpdatedNotificationSchema, told)
    client.setNotificationHandler(ToolListChangedNotificationSchema, () => void (changed += 1))
  } else client.setNotificationHandler('notifications/resources/updated', told)
  if (client instanceof PastClient) await client.connect(lines)
  else await client.connect(lines)
  return {
    bridge: made,
    upstream: up,
    async tools(meta) {
      const { tools } = await client.listTools(meta === undefined ? undefined : { _meta: meta })
      return tools.map(({ name }) => name)
    },
    async call(name, args = {}, { abort, meta } = {}) {
      const params = { name, arguments: args, ...(meta === undefined ? {} : { _meta: meta }) }
      const options = abort === undefined ? {} : { signal: abort }
      const result =
        client instanceof PastClient
          ? await client.callTool(params, undefined, options)
          : await client.callTool(params, options)
      return result as ToolAnswer
    },
    request: (method, params = {}) =>
      client instanceof PastClient
        ? client.request({ method, params }, z.looseObject({}))
        : client.request({ method, params }, z.looseObject({})),
    resources: async () => (await client.listResources()).resources.map(({ uri }) => uri),
    async subscribe(uri) {
      if (client instanceof PastClient) await client.subscribeResource({ uri })
      else await client.listen({ resourceSubscriptions: [uri] })
    },
    updates,
    toolsChanged: () => changed,
    pause: () => void (held = []),
    resume() {
      const waiting = held ?? []
      held = null
      for (const pass of waiting) pass()
    },
    async close() {
      await client.close()
      toBridge.end()
      up.close()
    },
  }
}

/** Real timers that run this many times faster than they say. */
export function hurriedClock(times: number): Clock {
  const origin = systemClock.monotonic()
  return {
    ...systemClock,
    monotonic: () => origin + (systemClock.monotonic() - origin) * times,
    after: (delay_ms, call) => systemClock.after(delay_ms / times, call),
  }
}

/** Real time until it is hurried: a hub that is there is given all the time it needs, one that is away is given up. */
export function patientClock(): Clock & { hurry(times: number): void; skip(ms: number): void } {
  let [now, since, pace] = [systemClock.monotonic(), systemClock.monotonic(), 1]
  const monotonic = () => now + (systemClock.monotonic() - since) * pace
  return {
    ...systemClock,
    monotonic,
    after: (delay_ms, call) => systemClock.after(delay_ms / pace, call),
    hurry: (times) => ([now, since, pace] = [monotonic(), systemClock.monotonic(), times]),
    skip: (ms) => void (now += ms),
  }
}

/** What the signals of a drain say. */
export function payloads({ structuredContent }: Pick<ToolAnswer, 'structuredContent'>): string[] {
  return (structuredContent!['signals'] as { payload: string }[]).map(({ payload }) => payload)
}
