/** Requests to the hub's port: methods, paths, queries, headers and bodies. */
import { FACADES } from '../../../src/facades/all.ts'
import { createRegistry } from '../../../src/kernel/registry.ts'
import { exchange, judgeProblem } from '../http-exchange.ts'
import { hubWorld } from '../hub-world.ts'
import { linesOf, samplesOf } from '../seeds.ts'
import { insist, type Target } from '../target.ts'

const HEAD = 'host: @host@\nauthorization: Bearer @ada@'
const JSON_TYPE = 'content-type: application/json'

export const http: Target = {
  name: 'http',
  promise: 'every request is answered with a result or a problem, and never with internal',
  share: 2.5,
  words: [
    ...[
      '@ada@',
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
    ...['expect: 100-continue', 'last-event-id: 5', 'x-turnbell-agent: bob', 'content-encoding: gzip'],
  ],

  async open() {
    const world = await hubWorld()
    const actions = createRegistry(FACADES).actions
    const posts = actions.flatMap(({ facade, name, action }) =>
      linesOf(action.input, 1).map(
        (body) => `POST /api/${facade.name}/${name}\n${HEAD}\n${JSON_TYPE}\n\n${body}`,
      ),
    )
    const gets = actions
      .filter(({ action }) => !action.mutates)
      .flatMap(({ facade, name, action }) =>
        samplesOf(action.input, 1).map(
          (params) => `GET /api/${facade.name}/${name}?${queryOf(params)}\n${HEAD}`,
        ),
      )
    return {
      seeds: [
        ...posts,
        ...gets,
        ...[
          '/',
          '/health',
          '/ready',
          '/metrics',
          '/facades',
          '/tools?full=true',
          '/events?limit=5&after=1',
        ].map((at) => `GET ${at}\n${HEAD}`),
        `POST /call\n${HEAD}\n${JSON_TYPE}\n\n{"tool":"signals","action":"pending","params":{},"context":{"agent_id":"ada"}}`,
        `POST /batch\n${HEAD}\n${JSON_TYPE}\n\n{"calls":[{"tool":"signals","action":"pending","params":{}},{"tool":"x","action":"y"}]}`,
        `POST /auth/token\n${HEAD.replace('@ada@', '@operator@')}\n${JSON_TYPE}\n\n{"identity":"ada","kind":"agent"}`,
        `POST /session/end\n${HEAD}\n${JSON_TYPE}\n\n{}`,
        `POST /hook/claude-code\n${HEAD}\n${JSON_TYPE}\n\n{"hook_event_name":"Stop","session_id":"s","stop_hook_active":false}`,
        `GET /events\n${HEAD}\naccept: text/event-stream\nlast-event-id: 1`,
        `POST /call\n${HEAD}\n${JSON_TYPE}\ntransfer-encoding: chunked\n\n2\r\n{}\r\n0\r\n\r\n`,
        `GET /ws\n${HEAD}\nupgrade: websocket`,
        `OPTIONS *\n${HEAD}`,
        `PUT /api/signals/send\n${HEAD}\norigin: http://evil.example`,
      ],
      lasts: 2_000,
      async attempt(input) {
        const answered = await exchange(world, input)
        // The door of MCP has a target of its own, and errors of another form.
        if (input.includes('/mcp')) return `mcp ${answered.status}`
        const outcome = judgeProblem(answered)
        if (answered.type === 'application/json' && answered.status !== null && answered.status < 300)
          insist(isJson(answered.body), () => `no JSON: ${answered.body.slice(0, 200)}`)
        return outcome
      },
      close: () => world.close(),
    }
  },
}

function queryOf(params: unknown): string {
  const told = Object.entries(params as object).map(([name, value]): [string, string] => [
    name,
    typeof value === 'string' ? value : JSON.stringify(value),
  ])
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
