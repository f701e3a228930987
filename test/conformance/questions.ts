/** Tools of protocol version 2025 that ask the client during a call. */
import type { ServerContext } from '@modelcontextprotocol/server'
import { content, text, talking } from './tool.ts'

type Asked = Parameters<ServerContext['mcpReq']['elicitInput']>[0]
type Form = Extract<Asked, { requestedSchema: unknown }>['requestedSchema']['properties']

async function ask({ mcpReq }: ServerContext, message: string, properties: Form) {
  const requestedSchema = { type: 'object' as const, properties, required: [] }
  const method = 'elicitation/create' as const
  const { action, content: filled } = await mcpReq.send({ method, params: { message, requestedSchema } })
  return content(text(`${action}: ${JSON.stringify(filled ?? {})}`))
}

const CHOICES = [
  { const: 'a', title: 'The first' },
  { const: 'b', title: 'The second' },
]

export const QUESTIONS = [
  talking(
    'test_sampling',
    "Asks the client's model.",
    async (args, { mcpReq }) => {
      const words = { type: 'text' as const, text: String(args['prompt']) }
      const messages = [{ role: 'user' as const, content: words }]
      const answer = await mcpReq.send({
        method: 'sampling/createMessage',
        params: { messages, maxTokens: 100 },
      })
      return content(text(`The model said: ${JSON.stringify(answer.content)}`))
    },
    { properties: { prompt: { type: 'string' } }, required: ['prompt'] },
  ),
  talking(
    'test_elicitation',
    'Asks the user for two fields.',
    (args, context) =>
      ask(context, String(args['message']), {
        username: { type: 'string', description: 'What they are called.' },
        email: { type: 'string', description: 'Where to write to.' },
      }),
    { properties: { message: { type: 'string' } }, required: ['message'] },
  ),
  talking('test_elicitation_sep1034_defaults', 'Asks the user with every field filled in.', (_, context) =>
    ask(context, 'Is this right?', {
      name: { type: 'string', default: 'John Doe' },
      age: { type: 'integer', default: 30 },
      score: { type: 'number', default: 95.5 },
      status: { type: 'string', enum: ['active', 'inactive', 'pending'], default: 'active' },
      verified: { type: 'boolean', default: true },
    }),
  ),
  talking('test_elicitation_sep1330_enums', 'Asks the user to choose, in every way.', (_, context) =>
    ask(context, 'Choose.', {
      untitledSingle: { type: 'string', enum: ['a', 'b'] },
      titledSingle: { type: 'string', oneOf: CHOICES },
      legacyEnum: { type: 'string', enum: ['a', 'b'], enumNames: ['The first', 'The second'] },
      untitledMulti: { type: 'array', items: { type: 'string', enum: ['a', 'b'] } },
      titledMulti: { type: 'array', items: { anyOf: CHOICES } },
    }),
  ),
]
