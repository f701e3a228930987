/** How the fixtures write a tool down. Their names and what they answer are the suite's. */
import type {
  CallToolResult,
  ContentBlock,
  InputRequiredResult,
  ServerContext,
} from '@modelcontextprotocol/server'
import type { ExtensionTool } from '../../src/transports/mcp/extension.ts'

type Args = Record<string, unknown>
type Answer = CallToolResult | InputRequiredResult

/** One that only answers. */
export function tool(
  name: string,
  description: string,
  handle: (args: Args) => CallToolResult | Promise<CallToolResult>,
  schema: object = {},
): ExtensionTool {
  return { talks: false, tool: declared(name, description, schema), call: async (args) => handle(args) }
}

/** One that has something to say, to ask or to need before it answers. */
export function talking(
  name: string,
  description: string,
  handle: (args: Args, context: ServerContext) => Answer | Promise<Answer>,
  schema: object = {},
): ExtensionTool {
  const call = async (args: Args, context: ServerContext) => handle(args, context)
  return { talks: true, tool: declared(name, description, schema), call }
}

function declared(name: string, description: string, schema: object): ExtensionTool['tool'] {
  return { name, description, inputSchema: { type: 'object', ...schema } }
}

export function content(...blocks: ContentBlock[]): CallToolResult {
  return { content: blocks }
}

export const text = (words: string): ContentBlock => ({ type: 'text', text: words })
