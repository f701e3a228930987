/**
 * The Responses API as Codex uses it. Source: https://platform.openai.com/docs/api-reference/responses-streaming, and
 * recorded requests of the client.
 */
import type http from 'node:http'
import { eventStream, someId, type ModelApi, type Reply } from './model-server.ts'

interface Item {
  type: string
  role?: string
  content?: string | { text?: string }[]
  output?: string | { text?: string }[]
}
interface Tool {
  type: string
  name?: string
  tools?: { name: string }[]
}
interface RequestBody {
  model?: string
  input?: Item[]
  tools?: Tool[]
}

/** A tool of an MCP server is named `namespace.name`. */
export const openaiApi: ModelApi = {
  path: '/v1/responses',
  read(asked) {
    const { input = [], tools = [] } = asked as RequestBody
    const fresh = input.slice(input.findLastIndex(isModels) + 1)
    return {
      // Requests for titles and summaries have no tools.
      role: tools.length > 0 ? 'main' : 'other',
      fresh: fresh.map((item) => textOf(item.content ?? item.output)).join('\n'),
      tool_results: fresh
        .filter(({ type }) => type.endsWith('_output'))
        // The tool's output follows a line with the time that it took.
        .map(({ output }) => textOf(output).replace(/^Wall time: .*\nOutput:\n/, '')),
      tools: tools.flatMap(({ name = '', tools: inner }) =>
        inner === undefined ? [name] : inner.map((tool) => `${name}.${tool.name}`),
      ),
    }
  },
  answer: (response, body, reply) => answer(response, body as RequestBody, reply),
  besides: (_method, path) =>
    path === '/v1/models' ? { object: 'list', data: [{ id: 'scripted', object: 'model' }] } : undefined,
}

function isModels({ type, role }: Item): boolean {
  return role === 'assistant' || type === 'reasoning' || type.endsWith('_call')
}

function textOf(content: Item['content']): string {
  if (typeof content === 'string') return content
  return (content ?? []).map(({ text }) => text ?? '').join('\n')
}

function answer(
  response: http.ServerResponse,
  { model = 'scripted' }: RequestBody,
  { text, tools = [] }: Reply,
): void {
  const event = eventStream(response)
  const started = { id: someId('resp'), object: 'response', model, status: 'in_progress', output: [] }
  event('response.created', { response: started })
  const output = [
    ...(text === undefined ? [] : [message(text)]),
    ...tools.map(({ name, input }) => call(name, input)),
  ]
  output.forEach((item, output_index) => {
    event('response.output_item.added', { output_index, item: { ...item, status: 'in_progress' } })
    event('response.output_item.done', { output_index, item })
  })
  const usage = { input_tokens: 100, output_tokens: 20, total_tokens: 120 }
  event('response.completed', { response: { ...started, status: 'completed', output, usage } })
  response.end()
}

function message(text: string) {
  const content = [{ type: 'output_text', text, annotations: [] }]
  return { id: someId('msg'), type: 'message', role: 'assistant', status: 'completed', content }
}

function call(tool: string, input: object) {
  const [name = '', namespace] = tool.split('.').reverse()
  return {
    ...{ id: someId('fc'), type: 'function_call', status: 'completed', call_id: someId('call') },
    ...{ name, arguments: JSON.stringify(input) },
    ...(namespace === undefined ? {} : { namespace }),
  }
}
