/** Context for the model, in the response of `POST /hook/<client>`. */
import type { Kernel } from '../../kernel/dispatch.ts'
import { SESSION_START, type HookAnswer } from '../../contracts/spool/hook.ts'
import type { Primer } from '../../contracts/memory/context.ts'
import type { Caller } from '../../contracts/token.ts'
import { RECEIVED } from '../../ports/sent-answer.ts'

const SCOPE_LENGTH_MAX = 1_024

/**
 * Returns the primer at the start of a session of the caller's own agent, in the common format of Claude Code and Codex.
 * Returns `{}` for every other event, for subagents, and if the caller may not call `context primer`.
 */
export async function hookContext(
  kernel: Pick<Kernel, 'dispatch'>,
  caller: Caller,
  { hook_event_name, agent_id, cwd }: Record<string, unknown>,
): Promise<HookAnswer> {
  const is_subagent = typeof agent_id === 'string' && agent_id !== ''
  if (hook_event_name !== SESSION_START || is_subagent || caller.kind !== 'agent') return {}
  const scope = typeof cwd === 'string' && cwd !== '' && cwd.length <= SCOPE_LENGTH_MAX ? cwd : null
  const outcome = await kernel.dispatch({
    facade: 'context',
    action: 'primer',
    params: {},
    caller,
    context: { scope },
    answer: RECEIVED,
  })
  if (!outcome.ok) return {}
  const { text } = outcome.result as unknown as Primer
  return { hookSpecificOutput: { hookEventName: SESSION_START, additionalContext: text } }
}
