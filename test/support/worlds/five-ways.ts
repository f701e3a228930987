/** Calls an action in all five ways and normalizes the responses to one form. */
import fs from 'node:fs'
import path from 'node:path'
import type { Json } from '../../../src/contracts/ids.ts'
import type { Caller } from '../../../src/contracts/token.ts'
import { ADA, exampleRepository, SESSION } from './five-ways-setting.ts'
import { OPERATOR_TOKEN, type LiveHub } from './live-hub.ts'
import { temporaryDirectory } from '../temporary-directory.ts'
import { testCli } from '../processes/test-cli.ts'

export interface WayCall {
  facade: string
  action: string
  params: unknown
  kind: Exclude<Caller['kind'], 'daemon'>
}

/** The result, or the problem without its instance. */
export type WayAnswer = { result: Json } | { problem: Record<string, Json> }

export type Way = (hub: LiveHub, call: WayCall) => Promise<WayAnswer>

const tokenFor = (hub: LiveHub, kind: WayCall['kind']) =>
  kind === 'operator' ? OPERATOR_TOKEN : hub.token(ADA, kind, kind === 'agent' ? SESSION : undefined)

/** A caller without its own project has to name one. */
const about = (kind: WayCall['kind']): { scope?: string } =>
  kind === 'operator' ? { scope: exampleRepository() } : {}

function told(hub: LiveHub, kind: WayCall['kind']) {
  const { scope } = about(kind)
  return { token: tokenFor(hub, kind), headers: scope === undefined ? undefined : { 'x-scope': scope } }
}

export const WAYS: Record<string, Way> = {
  async route(hub, { facade, action, params, kind }) {
    const response = await hub.http('POST', `/api/${facade}/${action}`, {
      ...told(hub, kind),
      body: params,
    })
    const body = (await response.json()) as Json
    return response.ok ? { result: body } : problemIn(body)
  },

  async call(hub, { facade, action, params, kind }) {
    const body = { tool: facade, action, params }
    const response = await hub.http('POST', '/call', { ...told(hub, kind), body })
    const answer = (await response.json()) as Record<string, Json>
    return response.ok ? { result: answer['result'] as Json } : problemIn(answer)
  },

  async websocket(hub, { facade, action, params, kind }) {
    const link =
      kind === 'operator' ? await operatorLink(hub) : await hub.join(ADA, kind, { session_id: SESSION })
    const frame = await link.ask<never>({ type: 'call', facade, action, params, context: about(kind) })
    const { type, id: _, ...answer } = frame as { type: string; id: string; result: Json }
    link.socket.close()
    await link.closed
    return type === 'result' ? { result: answer.result } : problemIn(answer)
  },

  facade: (hub, { facade, action, params, kind }) => mcp(hub, kind, facade, { action, params }),

  invoke: (hub, { facade, action, params, kind }) =>
    mcp(hub, kind, 'tool_invoke', { name: `${facade}_${action}`, args: params }),

  /** The command line calls as the operator. */
  async cli(hub, { facade, action, params }) {
    const home = temporaryDirectory()
    fs.mkdirSync(path.join(home, 'secrets'), { mode: 0o700 })
    fs.writeFileSync(path.join(home, 'secrets/operator.token'), OPERATOR_TOKEN, { mode: 0o600 })
    fs.chmodSync(home, 0o700)
    const turnbell = testCli({
      ...{ home, env: { TURNBELL_HUB_URL: hub.url } },
      overrides: { fetch: globalThis.fetch },
    })
    const code = await turnbell.run(
      ...['call', facade, action, '--params', JSON.stringify(params), '--json'],
      ...['--scope', exampleRepository()],
    )
    const answer = turnbell.json<Json>()
    return code === 0 ? { result: answer } : problemIn(answer)
  },
}

async function operatorLink(hub: LiveHub) {
  const link = await hub.dial({ token: OPERATOR_TOKEN })
  link.send({ type: 'hello', protocol: 1, kind: 'observer', identity: 'operator' })
  await link.next('welcome')
  return link
}

async function mcp(hub: LiveHub, kind: WayCall['kind'], name: string, args: object): Promise<WayAnswer> {
  const response = await fetch(`${hub.url}/mcp`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${tokenFor(hub, kind)}`,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': 'tools/call',
      'mcp-name': name,
    },
    body: JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: {
        name,
        arguments: args,
        _meta: {
          ...about(kind),
          'io.modelcontextprotocol/protocolVersion': '2026-07-28',
          'io.modelcontextprotocol/clientInfo': { name: 'five-ways', version: '1' },
          'io.modelcontextprotocol/clientCapabilities': {},
        },
      },
    }),
  })
  const { result } = (await response.json()) as {
    result: { isError?: boolean; structuredContent: Record<string, Json> }
  }
  return result.isError === true ? problemIn(result.structuredContent) : { result: result.structuredContent }
}

function problemIn(value: unknown): WayAnswer {
  const { instance: _, type: __, ...problem } = value as Record<string, Json>
  return { problem }
}

/** Removes values that differ between hubs and moments. */
export function alike(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(alike)
  if (typeof value === 'string') {
    return value
      .replace(/[0-7][0-9A-HJKMNP-TV-Z]{25}/g, '<ulid>')
      .replace(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/g, '<time>')
      .replace(/(?:\/[\w.-]+)*\/tmp\/[\w./-]+/g, '<path>')
  }
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [key, isOfOneHub(key, inner) ? `<${key}>` : alike(inner)]),
  )
}

/** Durations and counters of a hub: some ways create more events than others. */
function isOfOneHub(key: string, value: unknown): boolean {
  return /_ms$|_s$|^epoch$|^seq$/.test(key) || (key === 'next' && typeof value === 'number')
}
