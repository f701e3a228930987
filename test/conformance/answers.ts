/** Tools that answer at once with every kind of content, and tools that log or report progress first. */
import { PNG, WAV } from './media.ts'
import { content, talking, text, tool } from './tool.ts'

const resource = (uri: string, mimeType: string, words: string) => ({
  type: 'resource' as const,
  resource: { uri, mimeType, text: words },
})
const picture = { type: 'image' as const, data: PNG, mimeType: 'image/png' }

export const ANSWERS = [
  tool('test_simple_text', 'Answers with text.', () => content(text('Plain words.'))),
  tool('test_image_content', 'Answers with a picture.', () => content(picture)),
  tool('test_audio_content', 'Answers with a sound.', () =>
    content({ type: 'audio', data: WAV, mimeType: 'audio/wav' }),
  ),
  tool('test_embedded_resource', 'Answers with a resource.', () =>
    content(resource('test://embedded-resource', 'text/plain', 'Words in a resource.')),
  ),
  tool('test_multiple_content_types', 'Answers with three kinds of content.', () =>
    content(
      text('Three kinds:'),
      picture,
      resource('test://mixed-content-resource', 'application/json', '{"kind":3}'),
    ),
  ),
  tool('test_error_handling', 'Always fails.', () => ({
    ...content(text('It failed, as it was meant to.')),
    isError: true,
  })),
  talking('test_tool_with_logging', 'Logs three times.', async (_, { mcpReq }) => {
    for (const words of ['begins', 'works', 'ends']) await mcpReq.log('info', `the tool ${words}`)
    return content(text('Logged.'))
  }),
  // Log messages of this tool may only be sent if the request asked for logs.
  talking('test_logging_tool', 'Logs once.', async (_, { mcpReq }) => {
    await mcpReq.log('info', 'the tool was called')
    return content(text('Logged.'))
  }),
  talking('test_tool_with_progress', 'Tells how far it is.', async (_, { mcpReq }) => {
    const progressToken = mcpReq._meta?.progressToken
    if (progressToken === undefined) return content(text('Nobody asked how far it is.'))
    for (const progress of [0, 50, 100]) {
      const params = { progressToken, progress, total: 100 }
      await mcpReq.notify({ method: 'notifications/progress', params })
    }
    return content(text('All of it.'))
  }),
  tool('json_schema_2020_12_tool', 'Has a schema that uses the whole of JSON Schema.', () => content(), {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    $defs: {
      address: {
        $anchor: 'addressDef',
        type: 'object',
        properties: { street: { type: 'string' }, city: { type: 'string' } },
      },
    },
    properties: {
      name: { type: 'string' },
      address: { $ref: '#/$defs/address' },
      contactMethod: { type: 'string', enum: ['phone', 'email'] },
      phone: { type: 'string' },
      email: { type: 'string' },
    },
    allOf: [{ anyOf: [{ required: ['phone'] }, { required: ['email'] }] }],
    if: { properties: { contactMethod: { const: 'phone' } }, required: ['contactMethod'] },
    ['then']: { required: ['phone'] },
    else: { required: ['email'] },
    additionalProperties: false,
  }),
]
