/** What a subagent leaves when it ends: who it was, and how its own last words begin. Prompts stay in the client. */
import path from 'node:path'
import { beginning } from '../../contracts/beginning.ts'
import type { Identity, Json } from '../../contracts/ids.ts'
import { LIMITS } from '../../contracts/limits.ts'
import { memoryAround } from '../../ports/places.ts'
import { systemPlaces } from '../../system/places.ts'
import type { Invocation } from '../cli.ts'
import { leave } from './spool.ts'

export const SUBAGENT_STOP = 'SubagentStop'

/** Nothing where it worked in no project that has a memory. */
export function leaveSubagentStatus(
  invocation: Pick<Invocation, 'cli' | 'home'>,
  identity: Identity | null,
  payload: Record<string, Json>,
): void {
  const { cwd, agent_id, agent_type, last_assistant_message } = payload
  if (typeof cwd !== 'string' || !path.isAbsolute(cwd)) return
  // Claude Code has its own conversation summed up by one without a kind before it compacts it.
  if (agent_type === '') return
  const root = memoryAround(systemPlaces(invocation.home), cwd)
  if (root === null) return
  const [who, said] = [lineIn(agent_type), lineIn(last_assistant_message)]
  const summary = `Subagent${who === '' ? '' : ` ${who}`} finished${said === '' ? '' : `: ${said}`}`
  leave(invocation, {
    ...{ type: 'post', root, ...(identity === null ? {} : { identity }) },
    entry: {
      ...{
        entry_type: 'status',
        summary: beginning(summary, LIMITS.memory_summary_length_max),
        tags: ['subagent'],
      },
      ...(typeof agent_id === 'string' && agent_id !== ''
        ? { agent_id: beginning(agent_id, LIMITS.record_agent_length_max) }
        : {}),
    },
  })
}

/** The first line that says something. */
function lineIn(text: unknown): string {
  if (typeof text !== 'string') return ''
  const lines = text.split(/[\r\n\u2028\u2029]+/).map((line) => line.trim())
  return lines.find((line) => line !== '') ?? ''
}
