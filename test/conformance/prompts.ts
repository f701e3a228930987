/** Prompts and completion: methods that the hub itself does not offer. */
import {
  inputRequired,
  ProtocolError,
  ProtocolErrorCode,
  type GetPromptResult,
  type InputRequiredResult,
  type Prompt,
  type Server,
  type ServerContext,
} from '@modelcontextprotocol/server'
import { PNG } from './media.ts'
import { filled, form } from './rounds.ts'
import { text } from './tool.ts'

type Content = GetPromptResult['messages'][number]['content']
type Render = (args: Record<string, string>, context: ServerContext) => GetPromptResult | InputRequiredResult

const messages = (...blocks: Content[]): GetPromptResult => ({
  messages: blocks.map((block) => ({ role: 'user', content: block })),
})
const argument = (name: string) => ({ name, description: `The ${name}.`, required: true })

const PROMPTS: { prompt: Prompt; render: Render }[] = [
  {
    prompt: { name: 'test_simple_prompt', description: 'Takes no arguments.' },
    render: () => messages(text('A simple prompt.')),
  },
  {
    prompt: {
      name: 'test_prompt_with_arguments',
      description: 'Takes two arguments.',
      arguments: [argument('arg1'), argument('arg2')],
    },
    render: ({ arg1, arg2 }) => messages(text(`The first is ${arg1}, the second is ${arg2}.`)),
  },
  {
    prompt: {
      name: 'test_prompt_with_embedded_resource',
      description: 'Carries a resource.',
      arguments: [argument('resourceUri')],
    },
    render: ({ resourceUri = 'test://embedded-resource' }) =>
      messages(
        { type: 'resource', resource: { uri: resourceUri, mimeType: 'text/plain', text: 'Words.' } },
        text('Read the resource.'),
      ),
  },
  {
    prompt: { name: 'test_prompt_with_image', description: 'Carries a picture.' },
    render: () => messages({ type: 'image', data: PNG, mimeType: 'image/png' }, text('Look at it.')),
  },
  {
    prompt: { name: 'test_input_required_result_prompt', description: 'Needs something of the user.' },
    render(_, context) {
      const told = filled(context, 'user_context', 'context')
      if (typeof told === 'string') return messages(text(`In this context: ${told}`))
      return inputRequired({ inputRequests: { user_context: form('In which context?', 'context') } })
    },
  },
]

export function installPrompts(server: Server): void {
  server.setRequestHandler('prompts/list', () => ({ prompts: PROMPTS.map(({ prompt }) => prompt) }))
  server.setRequestHandler('prompts/get', ({ params }, context) => {
    const found = PROMPTS.find(({ prompt }) => prompt.name === params.name)
    if (found === undefined)
      throw new ProtocolError(ProtocolErrorCode.InvalidParams, `There is no prompt ${params.name}.`)
    return found.render(params.arguments ?? {}, context)
  })
  server.setRequestHandler('completion/complete', ({ params }) => {
    const values = ['test', 'tested', 'testing'].filter((word) => word.startsWith(params.argument.value))
    return { completion: { values, total: values.length, hasMore: false } }
  })
}
