/** Spools a status entry when a subagent ends: its type and the beginning of its last message. Prompts are not spooled. */
import path from 'node:path'
import { truncate } from '../../contracts/text/truncate.ts'
import type { Identity, Json } from '../../contracts/ids.ts'
import { LIMITS } from '../../contracts/limits/limits.ts'
import { nearestMemory } from '../../ports/path-inspector.ts'
import { systemPathInspector } from '../../system/files/path-inspector.ts'
import type { Invocation } from '../cli.ts'
import { appendToSpool } from './spool.ts'

export const SUBAGENT_STOP = 'SubagentStop'

/** Does nothing if the subagent's directory is not in a project with a memory. */
export function spoolSubagentStatus(
  invocation: Pick<Invocation, 'cli' | 'home'>,
  identity: Identity | null,
  payload: Record<string, Json>,
): void {
  const { cwd, agent_id, agent_type, last_assistant_message } = payload
  if (typeof cwd !== 'string' || !path.isAbsolute(cwd)) return
  // Claude Code summarizes its conversation for a compaction with a subagent of no type.
  if (agent_type === '') return
  const root = nearestMemory(systemPathInspector(invocation.home), cwd)
  if (root === null) return
  const [type, message] = [firstLine(agent_type), firstLine(last_assistant_message)]
  const summary = `Subagent${type === '' ? '' : ` ${type}`} finished${message === '' ? '' : `: ${message}`}`
  appendToSpool(invocation, {
    type: 'post',
    root,
    ...(identity === null ? {} : { identity }),
    entry: {
      entry_type: 'status',
      summary: truncate(summary, LIMITS.memory_summary_length_max),
      tags: ['subagent'],
      ...(typeof agent_id === 'string' && agent_id !== ''
        ? { agent_id: truncate(agent_id, LIMITS.record_agent_length_max) }
        : {}),
    },
  })
}

/** Returns the first line that is not blank; '' for anything but text. */
function firstLine(text: unknown): string {
  if (typeof text !== 'string') return ''
  const lines = text.split(/[\r\n\u2028\u2029]+/).map((line) => line.trim())
  return lines.find((line) => line !== '') ?? ''
}
