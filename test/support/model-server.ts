/**
 * A stand-in for the Messages API, good enough to drive the real Claude Code without a network and
 * without a model. It runs inside the test, so a scene scripts it and reads what the model was shown
 * by plain calls.
 *
 * Source of the wire format: https://docs.anthropic.com/en/api/messages-streaming, and what the client
 * really sends.
 */
import { randomBytes } from 'node:crypto'
import http from 'node:http'

interface TextBlock {
  type: 'text'
  text: string
}
interface ToolUseBlock {
  type: 'tool_use'
  id: string
  name: string
  input: object
}
interface ToolResultBlock {
  type: 'tool_result'
  tool_use_id: string
  content: string | TextBlock[]
}
type Block = TextBlock | ToolUseBlock | ToolResultBlock | { type: 'other' }
interface Message {
  role: 'user' | 'assistant' | 'system'
  content: string | Block[]
}
interface RequestBody {
  model?: string
  stream?: boolean
  max_tokens?: number
  system?: string | TextBlock[]
  tools?: { name: string }[]
  messages: Message[]
}

export interface Reply {
  text?: string
  tools?: { name: string; input: object }[]
  /** The answer begins only once this resolves. */
  after?: Promise<unknown>
}

/**
 * Who asks: the main agent, a subagent, or the client for its own ends (titles, summaries), which never
 * uses up a reply of the script.
 */
export type Role = 'main' | 'sub' | 'other'

/** One request of the client: what the model was shown at that moment. */
export interface Shown {
  n: number
  /** Monotonic milliseconds. */
  at: number
  role: Role
  /** Text of everything that came after the model's last answer: prompts, reminders, tool results. */
  fresh: string
  /** Only the results of tools among it. */
  tool_results: string[]
  tools: string[]
  reply: Reply
}

export interface ModelServer {
  server: http.Server
  /** Every request so far, in order. */
  shown: Shown[]
  /** The next main request whose fresh text matches gets this reply, once. Tried before `always`. */
  next(when: RegExp, reply: Reply): void
  /** Every request whose fresh text matches, for a role; the later one wins. */
  always(when: RegExp, reply: Reply | ((request: Shown) => Reply), role?: Role): void
  close(): Promise<void>
}

/** Listens nowhere yet: the caller decides where. */
export function createModelServer(): ModelServer {
  const shown: Shown[] = []
  const once: { when: RegExp; reply: Reply }[] = []
  const standing: { when: RegExp; role: Role; reply: Reply | ((request: Shown) => Reply) }[] = []

  function replyTo(request: Shown): Reply {
    const index = request.role === 'main' ? once.findIndex(({ when }) => when.test(request.fresh)) : -1
    if (index !== -1) return once.splice(index, 1)[0]!.reply
    const rule = standing.findLast(({ when, role }) => role === request.role && when.test(request.fresh))
    if (rule !== undefined) return typeof rule.reply === 'function' ? rule.reply(request) : rule.reply
    return { text: request.role === 'other' ? '{"title": "scene", "isNewTopic": false}' : 'Done.' }
  }

  async function onMessages(
    body: RequestBody,
    headers: http.IncomingHttpHeaders,
    response: http.ServerResponse,
  ) {
    const fresh = freshMessages(body)
    const request: Shown = {
      n: shown.length + 1,
      at: performance.now(),
      role: roleOf(body, headers),
      fresh: fresh.map(({ content }) => textOf(content)).join('\n'),
      tool_results: fresh.flatMap(({ content }) => toolResults(content)),
      tools: (body.tools ?? []).map(({ name }) => name),
      reply: {},
    }
    request.reply = replyTo(request)
    shown.push(request)
    await request.reply.after
    if (!response.destroyed) answer(response, body, request.reply)
  }

  const server = http.createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const path = (request.url ?? '').split('?')[0]
      const text = Buffer.concat(chunks).toString('utf8')
      if (request.method === 'POST' && path === '/v1/messages') {
        void onMessages(JSON.parse(text) as RequestBody, request.headers, response)
      } else if (request.method === 'POST' && path === '/v1/messages/count_tokens') {
        json(response, 200, { input_tokens: Math.ceil(text.length / 4) })
      } else if (path === '/v1/models') json(response, 200, { data: [], has_more: false })
      else if (path === '/' || request.method === 'HEAD') json(response, 200, {})
      else
        json(response, 404, { type: 'error', error: { type: 'not_found_error', message: 'no such route' } })
    })
  })

  return {
    server,
    shown,
    next: (when, reply) => void once.push({ when, reply }),
    always: (when, reply, role = 'main') => void standing.push({ when, role, reply }),
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections()
        server.close(() => resolve())
      }),
  }
}

function freshMessages({ messages }: RequestBody): Message[] {
  return messages.slice(messages.findLastIndex(({ role }) => role === 'assistant') + 1)
}

function textOf(content: Message['content']): string {
  if (typeof content === 'string') return content
  return content
    .map((block) => {
      if (block.type === 'text') return block.text
      return block.type === 'tool_result' ? textOf(block.content ?? '') : ''
    })
    .join('\n')
}

function toolResults(content: Message['content']): string[] {
  if (typeof content === 'string') return []
  return content.flatMap((block) => (block.type === 'tool_result' ? [textOf(block.content ?? '')] : []))
}

function roleOf({ system, tools, messages }: RequestBody, headers: http.IncomingHttpHeaders): Role {
  const instructions = textOf(system ?? '')
  if (headers['x-claude-code-agent-id'] !== undefined || instructions.includes('cc_is_subagent=true'))
    return 'sub'
  // The summary before a compaction carries the tools too; it is told by its own words.
  const last = textOf(messages.at(-1)?.content ?? '')
  if (/detailed summary of (the|this) conversation|Respond with TEXT ONLY/i.test(last)) return 'other'
  const working = (tools ?? []).some(({ name }) =>
    ['Bash', 'Read', 'Agent', 'Task', 'ToolSearch'].includes(name),
  )
  return working ? 'main' : 'other'
}

function answer(response: http.ServerResponse, body: RequestBody, { text, tools = [] }: Reply): void {
  const content: (TextBlock | ToolUseBlock)[] = [
    ...(text === undefined ? [] : [{ type: 'text' as const, text }]),
    ...tools.map(({ name, input }) => ({ type: 'tool_use' as const, id: id('toolu'), name, input })),
  ]
  const message = {
    id: id('msg'),
    type: 'message',
    role: 'assistant',
    model: body.model ?? 'scripted',
    content,
    stop_reason: tools.length > 0 ? 'tool_use' : 'end_turn',
    stop_sequence: null,
    usage: {
      input_tokens: 100,
      output_tokens: 20,
      cache_creation_input_tokens: 0,
      cache_read_input_tokens: 0,
    },
  }
  if (body.stream === true) stream(response, message, content)
  else json(response, 200, message)
}

function stream(
  response: http.ServerResponse,
  message: { stop_reason: string },
  content: (TextBlock | ToolUseBlock)[],
): void {
  response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' })
  const event = (type: string, data: object) =>
    response.write(`event: ${type}\ndata: ${JSON.stringify({ type, ...data })}\n\n`)
  event('message_start', { message: { ...message, content: [], stop_reason: null } })
  content.forEach((block, index) => {
    if (block.type === 'text') {
      event('content_block_start', { index, content_block: { type: 'text', text: '' } })
      event('content_block_delta', { index, delta: { type: 'text_delta', text: block.text } })
    } else {
      event('content_block_start', { index, content_block: { ...block, input: {} } })
      const partial_json = JSON.stringify(block.input)
      event('content_block_delta', { index, delta: { type: 'input_json_delta', partial_json } })
    }
    event('content_block_stop', { index })
  })
  event('message_delta', { delta: { stop_reason: message.stop_reason }, usage: { output_tokens: 20 } })
  event('message_stop', {})
  response.end()
}

function json(response: http.ServerResponse, status: number, value: object): void {
  const text = JSON.stringify(value)
  response.writeHead(status, {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(text),
  })
  response.end(text)
}

function id(kind: string): string {
  return `${kind}_${randomBytes(8).toString('hex')}`
}
