/**
 * What a hub can offer over MCP beside its kernel: tools whose answers are more than JSON, resources, and
 * methods that the kernel has no use for. They share the route, the sessions and both eras with the
 * kernel's own. The product has none.
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
  /** It may say, ask or need something before it answers; a call of any other is a plain one. */
  | { talks: true; call(args: Args, context: ServerContext): Promise<CallToolResult | InputRequiredResult> }
)

export interface McpExtension {
  /** Beside tools and resources, which every server has. */
  capabilities: Omit<ServerCapabilities, 'tools' | 'resources'>
  /** Proves what a client hands back as the state of a request. */
  requestState?: ServerOptions['requestState']
  /** By name; listed after the kernel's. */
  tools: ReadonlyMap<string, ExtensionTool>
  resources: readonly Resource[]
  resourceTemplates: readonly ResourceTemplateType[]
  /** Null for a uri that is none of its own. */
  read(uri: string): ReadResourceResult['contents'] | null
  /** Sets the handlers of further methods on a server that was just made. */
  install(server: Server): void
}

/** `toolsChanged` tells every client that listens that the list is another. */
export type McpExtend = (hub: { toolsChanged: () => void }) => McpExtension

export const NO_EXTENSION: McpExtension = {
  capabilities: {},
  tools: new Map(),
  resources: [],
  resourceTemplates: [],
  read: () => null,
  install: () => undefined,
}
