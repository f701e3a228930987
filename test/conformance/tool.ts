/** How the fixtures write a tool down. Their names and what they answer are the suite's. */
import type {
  CallToolResult,
  ContentBlock,
  InputRequiredResult,
  ServerContext,
} from '@modelcontextprotocol/server'
import type { ExtensionTool } from '../../src/transports/mcp/extension.ts'

type Handler = (
  args: Record<string, unknown>,
  context: ServerContext,
) => CallToolResult | InputRequiredResult | Promise<CallToolResult | InputRequiredResult>

/** One that only answers. */
export function tool(name: string, description: string, handle: Handler, schema: object = {}): ExtensionTool {
  return {
    talks: false,
    tool: { name, description, inputSchema: { type: 'object', ...schema } },
    call: async (args, context) => handle(args, context),
  }
}

/** One that has something to say, to ask or to need before it answers. */
export function talking(...declared: Parameters<typeof tool>): ExtensionTool {
  return { ...tool(...declared), talks: true }
}

export function content(...blocks: ContentBlock[]): CallToolResult {
  return { content: blocks }
}

export const text = (words: string): ContentBlock => ({ type: 'text', text: words })
