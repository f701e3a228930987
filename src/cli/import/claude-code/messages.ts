/** What single messages of Claude Code's history mean. */
import {
  contentText,
  countOf,
  fieldsOf,
  given,
  listOf,
  textOf,
  wordOf,
  type Fields,
} from '../history/fields.ts'
import type { ActivityData } from '../../../contracts/activity/event.ts'
import { bellInText } from '../../../contracts/doorbell.ts'

export interface ToolResult {
  id: string
  failed: boolean
  text: string
  exit_code: number | undefined
  denied: boolean | undefined
  /** The subagent that the call has waited for. */
  subagent: string | undefined
}

/** Returns the results of tool calls in a user message. */
export function resultsOf(value: Fields, message: Fields): ToolResult[] {
  const results = listOf(message['content']).filter((block) => block['type'] === 'tool_result')
  return results.flatMap((block) => {
    const id = textOf(block['tool_use_id'])
    if (id === undefined) return []
    const text = contentText(block['content'])
    const failed = block['is_error'] === true
    const denied = failed && (value['toolDenialKind'] !== undefined || text.startsWith(REFUSED))
    const details = fieldsOf(value['toolUseResult'])
    const subagent = details['status'] === 'completed' ? wordOf(details['agentId']) : undefined
    const code = failed ? /^(?:Error: )?Exit code (\d{1,9})\b/.exec(text)?.[1] : undefined
    const exit_code = code === undefined ? undefined : Number(code)
    return [{ id, failed, text, exit_code, denied: denied || undefined, subagent }]
  })
}

const REFUSED = "The user doesn't want to"

/** Returns true for the client's note that a person interrupted the turn. */
export function isInterrupt(text: string): boolean {
  return text.startsWith('[Request interrupted by user')
}

/** Beginnings of user messages that the client wrote itself. */
const INJECTED = [
  '<system-reminder>',
  '<local-command-',
  '<bash-',
  '<user-memory-input>',
  'Caveat: The messages below',
  '<session-start-hook>',
  '<user-prompt-submit-hook>',
]

/** Returns the prompt and its origin; null for a message that starts no turn. */
export function promptOf(value: Fields, text: string): { text: string; type: string } | null {
  const visible = text.replace(/<system-reminder>[\s\S]*?<\/system-reminder>\s*/g, '').trim()
  if (visible === '') return hasImage(value) ? { text: '[image]', type: 'person' } : null
  const name = /<command-name>([^<]{1,200})<\/command-name>/.exec(visible)?.[1]
  if (name !== undefined) {
    const args = /<command-args>([\s\S]*?)<\/command-args>/.exec(visible)?.[1] ?? ''
    return { text: `${name} ${args}`.trim(), type: 'command' }
  }
  if (INJECTED.some((start) => visible.startsWith(start))) return null
  if (bellInText(visible) !== null) return { text: visible, type: 'doorbell' }
  const is_task = visible.startsWith('<task-notification>')
  return { text: visible, type: is_task ? 'task' : 'person' }
}

function hasImage(value: Fields): boolean {
  const blocks = listOf(fieldsOf(value['message'])['content'])
  return blocks.some((block) => block['type'] === 'image')
}

/** Returns the usage of a model request, null if the message has none. The context is that of the main agent. */
export function usageOf(message: Fields, is_main: boolean): Omit<ActivityData<'usage'>, 'usage_id'> | null {
  const usage = fieldsOf(message['usage'])
  const model = wordOf(message['model'])
  // A message that the client wrote itself.
  if (model === '<synthetic>' || countOf(usage['output_tokens']) === undefined) return null
  const input_tokens = countOf(usage['input_tokens'])
  const cache_read_tokens = countOf(usage['cache_read_input_tokens'])
  const cache_write_tokens = countOf(usage['cache_creation_input_tokens'])
  const context = (input_tokens ?? 0) + (cache_read_tokens ?? 0) + (cache_write_tokens ?? 0)
  return given({
    ...{ model, input_tokens, output_tokens: countOf(usage['output_tokens']) },
    ...{ cache_read_tokens, cache_write_tokens, context_tokens: is_main ? context : undefined },
  })
}
