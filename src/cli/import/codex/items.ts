/** What single items of Codex's history mean: tool calls, their results, usage. */
import { argumentsOf, contentText, countOf, fieldsOf, given, textOf, type Fields } from '../history/fields.ts'
import type { ActivityData } from '../../../contracts/activity/event.ts'
import type { Json } from '../../../contracts/ids.ts'

export interface Call {
  id: string
  tool: string
  input: Json | undefined
}

/** Returns the tool call that an item begins, otherwise null. */
export function callOf(item: Fields): Call | null {
  const id = textOf(item['call_id']) ?? textOf(item['id'])
  if (id === undefined) return null
  const name = textOf(item['name']) ?? 'unknown'
  const namespace = textOf(item['namespace'])
  const tool = namespace === undefined ? name : `${namespace.replace(/_+$/, '')}__${name}`
  switch (item['type']) {
    case 'function_call':
      return { id, tool, input: argumentsOf(item['arguments']) }
    case 'custom_tool_call':
      return { id, tool, input: argumentsOf(item['input']) }
    case 'local_shell_call':
      return { id, tool: 'local_shell', input: argumentsOf(item['action']) }
    case 'web_search_call':
      return { id, tool: 'web_search', input: argumentsOf(item['action']) }
    default:
      return null
  }
}

export interface CallEnd {
  id: string
  failed: boolean
  text: string
  exit_code: number | undefined
  duration_ms: number | undefined
}

/** Returns the end of the call that an item or an event shows, otherwise null. */
export function endOf(item: Fields): CallEnd | null {
  const id = textOf(item['call_id']) ?? textOf(item['id'])
  if (id === undefined) return null
  const duration_ms = durationOf(item['duration'])
  switch (item['type']) {
    case 'function_call_output':
    case 'custom_tool_call_output':
      return { id, duration_ms, ...outputOf(item['output']) }
    case 'CommandExecution':
    case 'exec_command_end': {
      const exit_code = codeOf(item['exit_code'])
      const text = textOf(item['aggregated_output']) ?? textOf(item['stdout']) ?? ''
      return { id, duration_ms, exit_code, text, failed: exit_code !== undefined && exit_code !== 0 }
    }
    case 'patch_apply_end': {
      const failed = item['success'] === false
      const text = textOf(item[failed ? 'stderr' : 'stdout']) ?? ''
      return { id, duration_ms, exit_code: undefined, text, failed }
    }
    // Codex writes this item when the search has ended.
    case 'web_search_call':
      return { id, duration_ms, exit_code: undefined, text: '', failed: item['status'] === 'failed' }
    default:
      return null
  }
}

/** Forms of an exit code in the text that the model reads. */
const CODE = /(?:Process exited with code|Exit code:|^exit code) (-?\d{1,9})\b/i
const FAILED =
  /^(?:unsupported call|failed to parse function arguments|execution error|apply_patch verification failed)|\baborted by user/

/** The output is a text, a list of blocks, or an object; a text may itself be JSON with the exit code. */
function outputOf(output: unknown): Pick<CallEnd, 'failed' | 'text' | 'exit_code'> {
  const object = fieldsOf(typeof output === 'string' && output.startsWith('{') ? argumentsOf(output) : output)
  const whole = textOf(object['output']) ?? contentText(object['content'] ?? output)
  const exit_code = codeOf(fieldsOf(object['metadata'])['exit_code']) ?? codeIn(whole)
  const failed = object['success'] === false || (exit_code ?? 0) !== 0 || FAILED.test(whole.slice(0, 200))
  return { failed, text: whole, exit_code }
}

function codeIn(text: string): number | undefined {
  const code = CODE.exec(text.slice(0, 500))?.[1]
  return code === undefined ? undefined : Number(code)
}

const codeOf = (value: unknown) => (Number.isSafeInteger(value) ? (value as number) : undefined)

function durationOf(value: unknown): number | undefined {
  const { secs, nanos } = fieldsOf(value)
  const seconds = countOf(secs)
  return seconds === undefined ? undefined : seconds * 1_000 + Math.round((countOf(nanos) ?? 0) / 1_000_000)
}

/** Returns true for a message in the person's role that the client wrote: instructions, the environment, notes. */
export function isInjected(text: string, content: readonly Fields[]): boolean {
  if (text === '' || content.some((block) => block['type'] === 'input_image')) return text === ''
  return /^\s*(?:<[a-z_ ]{2,64}>|# AGENTS\.md instructions)/i.test(text)
}

/** Codex counts cached tokens as input, too; the stored figures are separate. */
export function usageOf(usage: Fields): Omit<ActivityData<'usage'>, 'usage_id'> | null {
  const input = countOf(usage['input_tokens'])
  const output_tokens = countOf(usage['output_tokens'])
  if (input === undefined || output_tokens === undefined) return null
  const cache_read_tokens = countOf(usage['cached_input_tokens'])
  const cache_write_tokens = countOf(usage['cache_write_input_tokens'])
  const input_tokens = Math.max(0, input - (cache_read_tokens ?? 0) - (cache_write_tokens ?? 0))
  return given({ input_tokens, output_tokens, cache_read_tokens, cache_write_tokens })
}
