/** An official MCP client and a real bridge in this process, connected by two pipes. */
import { Client as PastClient } from '@modelcontextprotocol/sdk/client/index.js'
import {
  ResourceUpdatedNotificationSchema,
  ToolListChangedNotificationSchema,
} from '@modelcontextprotocol/sdk/types.js'
import { Client } from '@modelcontextprotocol/client'
import { PassThrough, Transform } from 'node:stream'
import * as z from 'zod'
import type { Clock } from '../../../src/ports/clock.ts'
import { silentLog } from '../../../src/ports/log.ts'
import { systemClock } from '../../../src/system/clock.ts'
import { createIds, systemRandom } from '../../../src/system/random.ts'
import { createBridge, type Bridge, type BridgeOptions } from '../../../src/bridge/bridge.ts'
import { StdioLines } from '../../../src/bridge/stdio/stdio-lines.ts'
import { createUpstream, type Upstream, type UpstreamDeps } from '../../../src/bridge/hub/upstream.ts'

export interface ToolAnswer {
  isError?: boolean
  content: { type: string; text: string }[]
  structuredContent?: Record<string, unknown>
}

export interface BridgedClient {
  bridge: Bridge
  upstream: Upstream
  /** `meta` is the `_meta` of the request, here and below. */
  tools(meta?: Record<string, unknown>): Promise<string[]>
  call(
    name: string,
    args?: Record<string, unknown>,
    options?: { abort?: AbortSignal; meta?: Record<string, unknown> },
  ): Promise<ToolAnswer>
  resources(): Promise<string[]>
  /** Sends any method, for requests that the client itself would not send. */
  request(method: string, params?: Record<string, unknown>): Promise<unknown>
  /** Subscribes; `updates` then collects the client's notifications. */
  subscribe(uri: string): Promise<void>
  updates: string[]
  /** Returns the number of notifications that the tools changed. */
  toolsChanged(): number
  /** Until `resume` the client receives no output of the bridge and the pipe accepts no writes. */
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
    transport: new StdioLines(toBridge, gate),
    session_id: () => 'session-1',
    instructions: 'test',
    version: '0.0.0',
    ids: createIds(systemClock, systemRandom),
    clock: systemClock,
    log: silentLog,
    ...bridge,
  })
  const lines = new StdioLines(toClient, toBridge)
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

/** A real clock whose timers fire faster by this factor. */
export function hurriedClock(times: number): Clock {
  const origin = systemClock.monotonic()
  return {
    ...systemClock,
    monotonic: () => origin + (systemClock.monotonic() - origin) * times,
    after: (delay_ms, call) => systemClock.after(delay_ms / times, call),
  }
}

/**
 * A real clock until `hurry`: a live hub has all the time that it needs, and an unreachable one is given up quickly.
 */
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

/** Returns the payloads of a drain. */
export function payloads({ structuredContent }: Pick<ToolAnswer, 'structuredContent'>): string[] {
  return (structuredContent!['signals'] as { payload: string }[]).map(({ payload }) => payload)
}
