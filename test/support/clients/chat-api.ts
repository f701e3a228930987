/**
 * The chat completions API as opencode's openai-compatible provider uses it. Source:
 * https://platform.openai.com/docs/api-reference/chat-streaming, and recorded requests of the client.
 */
import type http from 'node:http'
import { someId, type ModelApi, type Reply, type Role } from './model-server.ts'

interface Message {
  role: string
  content?: string | { text?: string }[] | null
}
interface RequestBody {
  model?: string
  messages?: Message[]
  tools?: { function: { name: string } }[]
}

export const chatApi: ModelApi = {
  path: '/v1/chat/completions',
  read(asked) {
    const { messages = [], tools = [] } = asked as RequestBody
    const fresh = messages.slice(messages.findLastIndex(({ role }) => role === 'assistant') + 1)
    const said = fresh.filter(({ role }) => role !== 'system')
    return {
      role: roleOf(tools.map((tool) => tool.function.name)),
      system: messages
        .filter(({ role }) => role === 'system')
        .map(({ content }) => textOf(content))
        .join('\n'),
      fresh: said.map(({ content }) => textOf(content)).join('\n'),
      tool_results: said.filter(({ role }) => role === 'tool').map(({ content }) => textOf(content)),
      tools: tools.map((tool) => tool.function.name),
    }
  },
  answer: (response, body, reply) => answer(response, body as RequestBody, reply),
  besides: (_method, path) =>
    path === '/v1/models' ? { object: 'list', data: [{ id: 'scripted', object: 'model' }] } : undefined,
}

/** Requests for titles and summaries have no tools; a subagent has all tools except the one that starts a subagent. */
function roleOf(tools: readonly string[]): Role {
  if (tools.length === 0) return 'other'
  return tools.includes('task') ? 'main' : 'sub'
}

function textOf(content: Message['content']): string {
  if (typeof content === 'string') return content
  return (content ?? []).map(({ text }) => text ?? '').join('\n')
}

function answer(
  response: http.ServerResponse,
  { model = 'scripted' }: RequestBody,
  { text, tools = [] }: Reply,
): void {
  response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' })
  const chunk = { id: someId('chatcmpl'), object: 'chat.completion.chunk', created: 1, model }
  const send = (delta: object, finish_reason: string | null, more: object = {}) => {
    const choices = [{ index: 0, delta, finish_reason }]
    response.write(`data: ${JSON.stringify({ ...chunk, choices, ...more })}\n\n`)
  }
  if (text !== undefined) send({ role: 'assistant', content: text }, null)
  tools.forEach(({ name, input }, index) => {
    const call = { name, arguments: JSON.stringify(input) }
    send(
      { role: 'assistant', tool_calls: [{ index, id: someId('call'), type: 'function', function: call }] },
      null,
    )
  })
  const usage = { prompt_tokens: 100, completion_tokens: 20, total_tokens: 120 }
  send({}, tools.length > 0 ? 'tool_calls' : 'stop', { usage })
  response.end('data: [DONE]\n\n')
}
