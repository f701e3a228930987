/**
 * Makes text that imitates a client's own markup harmless before a model reads it.
 *
 * Clients wrap what they say themselves in tags (`<system-reminder>`, `<channel …>`, …) or begin a line with
 * it (`Stop hook feedback`). A sender that writes such a thing into a payload would speak with the client's
 * voice. One sign of it, a tag's opening bracket, is replaced by `‹`, which is in nothing that a client says:
 * so the reader still sees what was sent, and that it was meddled with. Stored bytes are untouched.
 */
import type { Json } from '../../contracts/ids.ts'
import type { Caller } from '../../contracts/token.ts'

/** Tags that Claude Code, Codex and opencode are known to put around their own words. */
const CLIENT_TAGS = [
  'system-reminder',
  'system_reminder',
  'system-message',
  'system-notification',
  'system',
  'task-notification',
  'task_notification',
  'channel',
  'hook_prompt',
  'hook-prompt',
  '[a-z-]*-hook',
  'hook',
  'event',
  'command-name',
  'command-message',
  'command-args',
  'local-command-stdout',
  'local-command-stderr',
  'local-command-caveat',
  'bash-input',
  'bash-stdout',
  'bash-stderr',
  'user-prompt-submit-hook',
  'user_instructions',
  'user_action',
  'environment_context',
  'permissions instructions',
  'turn_aborted',
  'subagent_notification',
  'teammate-message',
  'cross-session-message',
  'inter-agent-message',
  'new-diagnostics',
  'tool_use_error',
  'function_calls',
  'function_results',
  'antml:[a-z_]+',
  'invoke',
  'human',
  'assistant',
]
// Two runs of spaces beside each other would be tried in every division of what is one run.
const CLIENT_TAG = new RegExp(`<(?=\\s*(?:/\\s*)?(?:${CLIENT_TAGS.join('|')})(?![\\w]))`, 'gi')

/** Lines that clients put before what a hook or the system said: what stands before the one sign that is replaced. */
const HOOK_LINE =
  /^([ \t]*[a-z]*(?:Stop|UserPromptSubmit|PreToolUse|PostToolUse|SessionStart|Notification)) (?=hook (?:feedback|blocking error|additional context|success|error))/gim
const SYSTEM_LINE = /^([ \t]*)\[(?=SYSTEM NOTIFICATION)/gim
const SPECIAL_TOKEN = /<(?=\|[a-z_]+\|>)/gi

/** As many signs as before: what fits a bound where it is stored fits it where it is shown. */
export function defangText(text: string): string {
  // Nearly every text is free of all of it; two cheap looks save three passes.
  const marked = text.includes('<') ? text.replace(CLIENT_TAG, '‹').replace(SPECIAL_TOKEN, '‹') : text
  if (!/hook|notification/i.test(marked)) return marked
  return marked.replace(HOOK_LINE, '$1‹').replace(SYSTEM_LINE, '$1‹')
}

/** The same for every string inside a payload, keys included. */
export function defang(value: Json): Json {
  if (typeof value === 'string') return defangText(value)
  if (Array.isArray(value)) return value.map(defang)
  if (value === null || typeof value !== 'object') return value
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [defangText(key), defang(inner)]))
}

/** What one entry of a list takes in an answer, with the comma behind it. */
export function shownBytes(entry: object): number {
  return Buffer.byteLength(JSON.stringify(entry)) + 1
}

/** As this caller may see it: people see what was stored, a model sees it defanged. */
export function shownTo<T>(caller: Pick<Caller, 'kind'>, value: T): T {
  return caller.kind === 'agent' ? (defang(value as Json) as T) : value
}
