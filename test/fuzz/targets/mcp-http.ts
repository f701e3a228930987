/** Fuzzes MCP messages over HTTP, in both protocol versions. */
import { exchange, judgeProblem, type Answered } from '../peers/http-exchange.ts'
import { hubWorld } from '../peers/hub-world.ts'
import { LEGACY, MODERN } from '../peers/mcp-messages.ts'
import { insist, type Target } from '../target.ts'

const HEAD =
  'POST /mcp\nhost: @host@\nauthorization: Bearer @ada@\ncontent-type: application/json\naccept: application/json, text/event-stream'

export const mcpHttp: Target = {
  name: 'mcp-http',
  promise:
    'every message is answered in the form of JSON-RPC or refused with a problem, and never with internal',
  share: 5,
  words: [
    'mcp-session-id: x',
    'mcp-protocol-version: 2025-06-18',
    'turnbell://signals/ada/pending',
    'tools/call',
  ],

  async open() {
    const world = await hubWorld()
    return {
      seeds: [
        ...LEGACY.map((text) => `${HEAD}\n\n${text}`),
        `${HEAD}\nmcp-protocol-version: 2025-03-26\n\n[${LEGACY.slice(1, 6).join(',')}]`,
        ...MODERN.map(
          ({ method, name, text }) =>
            `${HEAD}\nmcp-protocol-version: 2026-07-28\nmcp-method: ${method}${name === undefined ? '' : `\nmcp-name: ${name}`}\n\n${text}`,
        ),
        `${HEAD.replace('POST', 'GET')}\nmcp-session-id: nobody`,
        `${HEAD.replace('POST', 'DELETE')}\nmcp-session-id: nobody`,
      ],
      lasts: 1_500,
      async attempt(input) {
        return judged(await exchange(world, input))
      },
      close: () => world.close(),
    }
  },
}

function judged(answered: Answered): string {
  const { status, type, body } = answered
  if (type !== 'application/json' && type !== 'text/event-stream') return judgeProblem(answered)
  insist(status !== 500, () => `500: ${body.slice(0, 200)}`)
  const texts =
    type === 'application/json'
      ? [body]
      : body.split('\n').flatMap((line) => (line.startsWith('data: {') ? [line.slice(6)] : []))
  const told = texts.filter((text) => text.trim() !== '').flatMap((text) => outcomeOf(text))
  return `${status} ${[...new Set(told)].join(' ')}`
}

interface Message {
  jsonrpc?: unknown
  error?: { code?: unknown; message?: unknown; data?: { code?: unknown } }
  result?: { isError?: unknown; structuredContent?: { code?: unknown } }
}

/** Returns the outcome of a response, or of each one in a batch. */
export function outcomeOf(text: string): string[] {
  const parsed = JSON.parse(text) as Message | Message[]
  return [parsed].flat().map(({ jsonrpc, error, result }) => {
    // Other paths have the hub's other responses.
    if (jsonrpc === undefined) return 'other'
    insist(jsonrpc === '2.0', () => `an answer of another protocol: ${text.slice(0, 200)}`)
    if (error !== undefined) {
      insist(
        Number.isInteger(error.code) && typeof error.message === 'string',
        () => `no error: ${text.slice(0, 200)}`,
      )
      insist(
        error.code !== -32603 && error.data?.code !== 'internal',
        () => `internal: ${text.slice(0, 300)}`,
      )
      return `${String(error.code)} ${String(error.data?.code)}`
    }
    const code = result?.isError === true ? result.structuredContent?.code : undefined
    insist(code !== 'internal', () => `internal: ${text.slice(0, 300)}`)
    return typeof code === 'string' ? code : 'result'
  })
}
