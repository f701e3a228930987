/** The tool calls among the items of a Codex thread, by the names that the model and the hooks of Codex use. Pure. */
import * as z from 'zod'
import { given, word, type Item } from './messages.ts'
import type { Captured } from '../../activity/captured.ts'
import { Json } from '../../../src/contracts/ids.ts'

/** A tool call as its item shows it, at its begin and again at its end. */
export interface ItemCall {
  tool: string
  input?: Json | undefined
  /** `inProgress`, `completed`, `failed`, `declined` or `interrupted`. */
  status?: string | undefined
  output?: string | undefined
  error?: string | undefined
  exit_code?: number | undefined
  duration_ms?: number | undefined
}

/** Returns null for an item that is not a tool call. */
export function callOf(item: Item): ItemCall | null {
  const read = Object.hasOwn(CALLS, item.type) ? CALLS[item.type] : undefined
  const call = read?.(item) ?? null
  return call === null ? null : { ...call, tool: word(call.tool) || 'unknown' }
}

/** Returns the event for the end of a call. */
export function endOf(item: Item, call: ItemCall): Captured {
  const { tool, status, output, exit_code } = call
  const about = { action_id: item.id, tool, ...given({ duration_ms: durationOf(item, call), exit_code }) }
  if (status === undefined || !FAILURES.has(status))
    return { kind: 'action.ended', data: { ...about, ...given({ output }) } }
  const denied = status === 'declined' ? true : undefined
  return { kind: 'action.failed', data: { ...about, ...given({ error: call.error ?? output, denied }) } }
}

const FAILURES: ReadonlySet<string> = new Set(['failed', 'declined', 'interrupted'])

/** The times of the item include the wait for an approval. */
function durationOf({ startedAtMs, completedAtMs }: Item, { duration_ms }: ItemCall): number | undefined {
  const both = typeof startedAtMs === 'number' && typeof completedAtMs === 'number'
  const took = duration_ms ?? (both ? completedAtMs - startedAtMs : undefined)
  return took === undefined ? undefined : Math.max(0, Math.round(took))
}

const Text = z.string().nullish().catch(undefined)
const Count = z.number().nullish().catch(undefined)
const Status = z.string().optional().catch(undefined)
const Value = z
  .unknown()
  .transform((value) => (value === undefined ? undefined : (Json.safeParse(value).data ?? undefined)))

const Command = z.looseObject({
  command: z.string().catch(''),
  cwd: Text,
  source: Text,
  status: Status,
  aggregatedOutput: Text,
  exitCode: z.number().int().nullish().catch(undefined),
  durationMs: Count,
})
const FileChange = z.looseObject({ changes: Value, status: Status })
const McpCall = z.looseObject({
  server: z.string().catch(''),
  tool: z.string().catch(''),
  arguments: Value,
  status: Status,
  result: z.looseObject({ content: z.unknown(), structuredContent: z.unknown() }).nullish().catch(undefined),
  error: z.looseObject({ message: Text }).nullish().catch(undefined),
  durationMs: Count,
})
const DynamicCall = z.looseObject({
  namespace: Text,
  tool: z.string().catch(''),
  arguments: Value,
  status: Status,
  contentItems: z.unknown(),
  success: z.boolean().nullish().catch(undefined),
  durationMs: Count,
})
export const CollabCall = z.looseObject({
  tool: z.string().catch(''),
  status: Status,
  senderThreadId: z.string().catch(''),
  receiverThreadIds: z.array(z.string().min(1)).catch([]),
  prompt: Text,
  model: Text,
  agentsStates: z.record(z.string(), z.looseObject({ status: z.string() })).catch({}),
})
const WebSearch = z.looseObject({ query: z.string().catch(''), action: Value, results: z.unknown() })
const ImageView = z.looseObject({ path: z.string().catch('') })
const Image = z.looseObject({ status: Status, revisedPrompt: Text, savedPath: Text })
const Sleep = z.looseObject({ durationMs: Count })
const FunctionOutput = z.looseObject({ name: z.string().catch(''), namespace: Text, output: z.unknown() })

/** Names of the tools that direct subagents. Others keep the client's word. */
const COLLAB_TOOLS: Readonly<Record<string, string>> = {
  spawnAgent: 'spawn_agent',
  sendInput: 'send_input',
  resumeAgent: 'resume_agent',
  wait: 'wait_agent',
  closeAgent: 'close_agent',
  followupTask: 'followup_task',
  interruptAgent: 'interrupt_agent',
  listAgents: 'list_agents',
}

/** By the type of the item. */
const CALLS: Readonly<Record<string, (item: Item) => ItemCall>> = {
  commandExecution(item) {
    const { command, cwd, source, status, aggregatedOutput, exitCode, durationMs } = Command.parse(item)
    return {
      // The name in the client's hooks.
      tool: source === 'unifiedExecInteraction' ? 'write_stdin' : 'Bash',
      input: { command, ...given({ cwd: cwd ?? undefined }) },
      status,
      output: aggregatedOutput ?? undefined,
      exit_code: exitCode ?? undefined,
      duration_ms: durationMs ?? undefined,
    }
  },
  fileChange(item) {
    const { changes, status } = FileChange.parse(item)
    return { tool: 'apply_patch', input: { changes: changes ?? [] }, status }
  },
  mcpToolCall(item) {
    const { server, tool, status, result, error, durationMs, ...call } = McpCall.parse(item)
    return {
      tool: `mcp__${server}__${tool}`,
      input: call.arguments,
      status,
      output: textOf(result?.content) ?? textOf(result?.structuredContent),
      error: error?.message ?? undefined,
      duration_ms: durationMs ?? undefined,
    }
  },
  dynamicToolCall(item) {
    const { namespace, tool, status, contentItems, success, durationMs, ...call } = DynamicCall.parse(item)
    return {
      tool: named(namespace, tool),
      input: call.arguments,
      status: success === false ? 'failed' : status,
      output: textOf(contentItems),
      duration_ms: durationMs ?? undefined,
    }
  },
  collabAgentToolCall(item) {
    const { tool, status, receiverThreadIds: agents, prompt, model } = CollabCall.parse(item)
    const about = given({ prompt: prompt ?? undefined, model: model || undefined })
    return {
      tool: Object.hasOwn(COLLAB_TOOLS, tool) ? (COLLAB_TOOLS[tool] as string) : tool,
      input: { ...about, ...(agents.length > 0 && { agents }) },
      status,
    }
  },
  webSearch(item) {
    const { query, action, results } = WebSearch.parse(item)
    return {
      tool: 'web_search',
      input: { query, ...given({ action: action ?? undefined }) },
      output: textOf(results),
    }
  },
  imageView: (item) => ({ tool: 'view_image', input: { path: ImageView.parse(item).path } }),
  imageGeneration(item) {
    const { status, revisedPrompt, savedPath } = Image.parse(item)
    return {
      tool: 'image_generation',
      input: given({ prompt: revisedPrompt ?? undefined }),
      status,
      output: savedPath ?? undefined,
    }
  },
  sleep(item) {
    const { durationMs } = Sleep.parse(item)
    return { tool: 'sleep', input: given({ duration_ms: durationMs ?? undefined }) }
  },
  functionCallOutput(item) {
    const { name, namespace, output } = FunctionOutput.parse(item)
    return { tool: named(namespace, name), output: textOf(output) }
  },
}

function named(namespace: string | null | undefined, name: string): string {
  return namespace ? `${namespace}.${name}` : name
}

/** Returns the texts of a list of contents, and any other value as JSON. */
function textOf(value: unknown): string | undefined {
  if (value === undefined || value === null || value === '') return undefined
  if (typeof value === 'string') return value
  const texts = Array.isArray(value) ? value.flatMap((part) => partText(part) ?? []) : []
  if (Array.isArray(value) && value.length === 0) return undefined
  return texts.length > 0 ? texts.join('\n') : JSON.stringify(value)
}

function partText(part: unknown): string | null {
  if (typeof part !== 'object' || part === null || !('text' in part)) return null
  return typeof part.text === 'string' ? part.text : null
}
