/**
 * The Messages API as Claude Code uses it. Source: https://docs.anthropic.com/en/api/messages-streaming, and recorded
 * requests of the client.
 */
import type http from 'node:http'
import { eventStream, sendJson, someId, type ModelApi, type Reply, type Role } from './model-server.ts'

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

export const anthropicApi: ModelApi = {
  path: '/v1/messages',
  read(asked, headers) {
    const body = asked as RequestBody
    const fresh = freshMessages(body)
    return {
      role: roleOf(body, headers),
      fresh: fresh.map(({ content }) => textOf(content)).join('\n'),
      tool_results: fresh.flatMap(({ content }) => toolResults(content)),
      tools: (body.tools ?? []).map(({ name }) => name),
    }
  },
  answer: (response, body, reply) => answer(response, body as RequestBody, reply),
  besides(method, path, text) {
    if (path === '/v1/messages/count_tokens') return { input_tokens: Math.ceil(text.length / 4) }
    if (path === '/v1/models') return { data: [], has_more: false }
    return path === '/' || method === 'HEAD' ? {} : undefined
  },
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
  // The summary before a compaction also lists the tools; its prompt identifies it.
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
    ...tools.map(({ name, input }) => ({ type: 'tool_use' as const, id: someId('toolu'), name, input })),
  ]
  const message = {
    id: someId('msg'),
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
  else sendJson(response, 200, message)
}

function stream(
  response: http.ServerResponse,
  message: { stop_reason: string },
  content: (TextBlock | ToolUseBlock)[],
): void {
  const event = eventStream(response)
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
