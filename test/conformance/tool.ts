/** Helpers to declare the fixtures' tools. Their names and results are defined by the suite. */
import type {
  CallToolResult,
  ContentBlock,
  InputRequiredResult,
  ServerContext,
} from '@modelcontextprotocol/server'
import type { ExtensionTool } from '../../src/transports/mcp/extension.ts'

type Args = Record<string, unknown>
type Answer = CallToolResult | InputRequiredResult

/** Declares a tool that only returns a result. */
export function tool(
  name: string,
  description: string,
  handle: (args: Args) => CallToolResult | Promise<CallToolResult>,
  schema: object = {},
): ExtensionTool {
  return { talks: false, tool: declared(name, description, schema), call: async (args) => handle(args) }
}

/** Declares a tool that logs, asks or requests input before it returns. */
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
