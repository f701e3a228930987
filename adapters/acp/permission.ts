/**
 * What an agent that nobody watches is answered when it asks leave to do something. Pure.
 *
 * turnbell's own tools are allowed, once each time: a doorbell asks for one of them. Everything else is what
 * the persona's settings say. Nothing is ever allowed for longer than this once.
 */
import type { PermissionAnswer, PermissionRequest, ToolCall } from './protocol.ts'
import type { Permissions } from '../../src/contracts/config.ts'
import { DRAIN_TOOL } from '../../src/contracts/drain.ts'

/** Its name as an MCP server: the agents make the names of its tools from it. */
export const MCP_SERVER = 'turnbell'
const OWN_TOOLS = [DRAIN_TOOL, 'signals']

const REFUSALS = ['reject_once', 'reject_always']

/** `told` is the first that was told of the call, null where nothing was. */
export function answerTo(
  request: PermissionRequest,
  told: ToolCall | null,
  policy: Permissions,
): { answer: PermissionAnswer; decided: 'allowed' | 'rejected'; own: boolean } {
  const option = (kind: string) => request.options.find((offered) => offered.kind === kind)
  const own = isOwnTool(request.toolCall, told)
  const leave = own || policy === 'allow' ? option('allow_once') : undefined
  if (leave !== undefined) return { answer: selected(leave.optionId), decided: 'allowed', own }
  const refusal = REFUSALS.map(option).find((found) => found !== undefined)
  // An agent that offers no way to say no takes this as one.
  const answer: PermissionAnswer =
    refusal === undefined ? { outcome: { outcome: 'cancelled' } } : selected(refusal.optionId)
  return { answer, decided: 'rejected', own }
}

/**
 * Whether a call is one of turnbell's tools, by what the agent's own program says of it. A title counts only
 * where it is the tool's name: later ones, and those of commands, are words of the model.
 */
export function isOwnTool(asked: ToolCall, told: ToolCall | null): boolean {
  return (
    [asked, told].some((call) => call !== null && (isNamedSo(call) || isCodexCall(call))) || isTitled(told)
  )
}

/** claude-agent-acp: `mcp__SERVER__TOOL`. */
function isNamedSo({ name, _meta }: ToolCall): boolean {
  const called = name ?? _meta?.claudeCode?.toolName
  return OWN_TOOLS.some((tool) => called === `mcp__${MCP_SERVER}__${tool}`)
}

/** codex-acp: the server and its tool stand beside the arguments, which are one level deeper. */
function isCodexCall({ title, rawInput }: ToolCall): boolean {
  if (typeof rawInput !== 'object' || rawInput === null) return false
  const { server, tool } = rawInput as { server?: unknown; tool?: unknown }
  return server === MCP_SERVER && OWN_TOOLS.some((own) => own === tool && title === `mcp.${server}.${own}`)
}

/** opencode: the first title of a call is the tool's name, and what is not its own tool is of the kind `other`. */
function isTitled(told: ToolCall | null): boolean {
  return told?.kind === 'other' && OWN_TOOLS.some((tool) => told.title === `${MCP_SERVER}_${tool}`)
}

function selected(optionId: string): PermissionAnswer {
  return { outcome: { outcome: 'selected', optionId } }
}
