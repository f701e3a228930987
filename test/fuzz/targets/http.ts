/** Fuzzes HTTP requests to the hub: methods, paths, queries, headers and bodies. */
import { FACADES } from '../../../src/facades/all.ts'
import { parse } from 'node:querystring'
import type { Action, Found } from '../../../src/kernel/define.ts'
import { queryReader } from '../../../src/kernel/query-reader.ts'
import { createRegistry } from '../../../src/kernel/registry.ts'
import { exchange, judgeProblem } from '../peers/http-exchange.ts'
import { hubWorld } from '../peers/hub-world.ts'
import { samplesOf } from '../seeds.ts'
import { insist, type Target } from '../target.ts'

const HEAD = 'host: @host@\nauthorization: Bearer @ada@'
const JSON_TYPE = 'content-type: application/json'

export const http: Target = {
  name: 'http',
  promise: 'every request is answered with a result or a problem, and never with internal',
  share: 7,
  words: [
    ...[
      '@ada@',
      '@session@',
      '@operator@',
      '@host@',
      'GET',
      'POST',
      'DELETE',
      'OPTIONS',
      '/api/',
      '/call',
      '/batch',
      '/events',
    ],
    ...[
      'application/json',
      'text/event-stream',
      'transfer-encoding: chunked',
      'content-length: 5',
      'origin: http://x',
    ],
    ...['expect: 100-continue', 'last-event-id: 5', 'x-agent-id: bob', 'content-encoding: gzip'],
  ],

  async open() {
    const world = await hubWorld()
    const actions = createRegistry(FACADES).actions
    // Values from examples that mutations rarely produce: an absolute path, a time, one of two alternative fields.
    const said = ({ action }: Found) => [
      ...samplesOf(action.input, 1),
      ...(action.examples ?? []).slice(0, 1),
    ]
    const posts = actions.flatMap((found) =>
      said(found).map(
        (params) =>
          `POST /api/${found.facade.name}/${found.name}\n${HEAD}\n${JSON_TYPE}\n\n${JSON.stringify(params)}`,
      ),
    )
    const gets = actions
      .filter(({ action }) => !action.mutates)
      .flatMap((found) =>
        said(found)
          .map(queryOf)
          .filter((query) => isTaken(found.action, query))
          .map((query) => `GET /api/${found.facade.name}/${found.name}?${query}\n${HEAD}`),
      )
    const seeds = [
      ...posts,
      ...gets,
      ...[
        '/',
        '/health',
        '/ready',
        '/metrics',
        '/facades',
        '/tools?full=true',
        '/events?limit=5&since=1',
      ].map((at) => `GET ${at}\n${HEAD}`),
      `POST /call\n${HEAD}\n${JSON_TYPE}\n\n{"tool":"signals","action":"pending","params":{}}`,
      `POST /batch\n${HEAD}\n${JSON_TYPE}\n\n{"calls":[{"facade":"signals","action":"pending","params":{}},{"facade":"x","action":"y"}]}`,
      `POST /auth/token\n${HEAD.replace('@ada@', '@operator@')}\n${JSON_TYPE}\n\n{"identity":"ada","kind":"agent"}`,
      `POST /session/end\n${HEAD.replace('@ada@', '@session@')}\n${JSON_TYPE}\n\n{}`,
      `POST /hook/claude-code\n${HEAD}\n${JSON_TYPE}\n\n{"hook_event_name":"Stop","session_id":"s","stop_hook_active":false}`,
      `GET /events\n${HEAD}\naccept: text/event-stream\nlast-event-id: 1`,
      `POST /session/end\n${HEAD.replace('@ada@', '@session@')}\n${JSON_TYPE}\ntransfer-encoding: chunked\n\n2\r\n{}\r\n0\r\n\r\n`,
      `GET /ws\n${HEAD}\nupgrade: websocket`,
      `OPTIONS *\n${HEAD}`,
      `PUT /api/signals/send\n${HEAD}\norigin: http://evil.example`,
    ]
    return {
      seeds,
      broken_seeds: [`POST /call\n${HEAD}\n${JSON_TYPE}\ntransfer-encoding: chunked\n\n2\r\n{}\r\n0\r\n\r\n`],
      lasts: 2_000,
      async attempt(input) {
        const answered = await exchange(world, input)
        // A seed is a complete request with a known meaning, so it must be answered.
        insist(answered.status !== null || !seeds.includes(input.toString()), () => 'it was not answered')
        // The MCP endpoint has its own target and other errors.
        if (/^\S+ \S*\/mcp/.test(input.toString('latin1'))) return `mcp ${answered.status}`
        const outcome = judgeProblem(answered)
        if (answered.type === 'application/json' && answered.status !== null && answered.status < 300)
          insist(isJson(answered.body), () => `no JSON: ${answered.body.slice(0, 200)}`)
        return outcome
      },
      close: () => world.close(),
    }
  },
}

/** A query string cannot contain objects. */
function isTaken(action: Action, query: string): boolean {
  return action.input.safeParse(queryReader(action)(parse(query))).success
}

/** A list is written as repeated values. */
function queryOf(params: unknown): string {
  const told = Object.entries(params as object).flatMap(([name, value]: [string, unknown]) =>
    (Array.isArray(value) ? value : [value]).map((one): [string, string] => [
      name,
      typeof one === 'string' ? one : JSON.stringify(one),
    ]),
  )
  return new URLSearchParams(told).toString()
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}
