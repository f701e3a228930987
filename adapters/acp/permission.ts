/**
 * Answers the permission requests of a headless agent. Pure.
 *
 * turnbell's own tools are allowed, because a doorbell requests one of them. All other requests follow the persona's
 * settings. A permission is always granted for one call only.
 */
import type { PermissionAnswer, PermissionRequest, ToolCall } from './protocol.ts'
import type { Permissions } from '../../src/contracts/config.ts'
import { DRAIN_TOOL } from '../../src/contracts/drain-calls.ts'

/** Name of turnbell's MCP server; the agents derive the names of its tools from it. */
export const MCP_SERVER = 'turnbell'
const OWN_TOOLS = [DRAIN_TOOL, 'signals']

const REJECT_KINDS = ['reject_once', 'reject_always']

/** `announced` is the first update of the call; null if there was none. */
export function answerPermission(
  request: PermissionRequest,
  announced: ToolCall | null,
  policy: Permissions,
): { answer: PermissionAnswer; decided: 'allowed' | 'rejected'; own: boolean } {
  const option = (kind: string) => request.options.find((offered) => offered.kind === kind)
  const own = isOwnTool(request.toolCall, announced)
  const allow_option = own || policy === 'allow' ? option('allow_once') : undefined
  if (allow_option !== undefined) return { answer: selected(allow_option.optionId), decided: 'allowed', own }
  const reject_option = REJECT_KINDS.map(option).find((candidate) => candidate !== undefined)
  // Without a reject option, `cancelled` counts as a rejection.
  const answer: PermissionAnswer =
    reject_option === undefined ? { outcome: { outcome: 'cancelled' } } : selected(reject_option.optionId)
  return { answer, decided: 'rejected', own }
}

/**
 * Whether a call is one of turnbell's tools, according to the agent's program. A title counts only if it is the tool's
 * name, because later titles and those of commands are written by the model.
 */
export function isOwnTool(requested: ToolCall, announced: ToolCall | null): boolean {
  return (
    [requested, announced].some((call) => call !== null && (hasOwnName(call) || isCodexCall(call))) ||
    hasOwnTitle(announced)
  )
}

/** claude-agent-acp: `mcp__SERVER__TOOL`. */
function hasOwnName({ name, _meta }: ToolCall): boolean {
  const tool_name = name ?? _meta?.claudeCode?.toolName
  return OWN_TOOLS.some((tool) => tool_name === `mcp__${MCP_SERVER}__${tool}`)
}

/** codex-acp: `rawInput` contains the server and the tool; the arguments are nested in it. */
function isCodexCall({ title, rawInput }: ToolCall): boolean {
  if (typeof rawInput !== 'object' || rawInput === null) return false
  const { server, tool } = rawInput as { server?: unknown; tool?: unknown }
  return server === MCP_SERVER && OWN_TOOLS.some((own) => own === tool && title === `mcp.${server}.${own}`)
}

/** opencode: the first title of a call is the tool's name, and MCP tools have the kind `other`. */
function hasOwnTitle(announced: ToolCall | null): boolean {
  return announced?.kind === 'other' && OWN_TOOLS.some((tool) => announced.title === `${MCP_SERVER}_${tool}`)
}

function selected(optionId: string): PermissionAnswer {
  return { outcome: { outcome: 'selected', optionId } }
}
