/**
 * MCP features in addition to those of the kernel: tools with other results than JSON, resources, and further methods.
 * They use the same route, sessions and protocol eras. Used only by the conformance tests.
 */
import type {
  CallToolResult,
  InputRequiredResult,
  ReadResourceResult,
  Resource,
  ResourceTemplateType,
  Server,
  ServerCapabilities,
  ServerContext,
  ServerOptions,
  Tool,
} from '@modelcontextprotocol/server'

type Args = Record<string, unknown>

export type ExtensionTool = { tool: Tool } & (
  | { talks: false; call(args: Args): Promise<CallToolResult> }
  /** May send notifications or requests to the client before it answers. Only other tools use the fast path. */
  | { talks: true; call(args: Args, context: ServerContext): Promise<CallToolResult | InputRequiredResult> }
)

export interface McpExtension {
  /** In addition to tools and resources, which every server has. */
  capabilities: Omit<ServerCapabilities, 'tools' | 'resources'>
  /** Validates the request state that a client sends back. */
  requestState?: ServerOptions['requestState']
  /** By name; listed after the kernel's. */
  tools: ReadonlyMap<string, ExtensionTool>
  resources: readonly Resource[]
  resourceTemplates: readonly ResourceTemplateType[]
  /** Returns null for a uri of another owner. */
  read(uri: string): ReadResourceResult['contents'] | null
  /** Sets the handlers of further methods on a new server. */
  install(server: Server): void
}

/** `toolsChanged` notifies clients that the list of tools has changed. */
export type McpExtend = (hub: { toolsChanged: () => void }) => McpExtension

export const NO_EXTENSION: McpExtension = {
  capabilities: {},
  tools: new Map(),
  resources: [],
  resourceTemplates: [],
  read: () => null,
  install: () => undefined,
}
