/** What `POST /hook/<client>` returns to a client that takes context for its model at this event. */
import type { Kernel } from '../../kernel/dispatch.ts'
import { SESSION_START, type HookAnswer } from '../../contracts/hook.ts'
import type { Primer } from '../../contracts/context.ts'
import type { Caller } from '../../contracts/token.ts'

const SCOPE_LENGTH_MAX = 1_024

/**
 * The primer at the start of a session of the caller's own agent, in the form that Claude Code and Codex share. `{}` for
 * every other event, for subagents, and where the caller may not call `context primer`.
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
    ...{ facade: 'context', action: 'primer', params: {}, caller, context: { scope } },
    answered: Promise.resolve('written'),
  })
  if (!outcome.ok) return {}
  const { text } = outcome.result as unknown as Primer
  return { hookSpecificOutput: { hookEventName: SESSION_START, additionalContext: text } }
}
