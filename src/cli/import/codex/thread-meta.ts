/** The first line of a Codex history file, and which of the following lines are copies from another thread. */
import { fieldsOf, textOf, type Fields } from '../history/fields.ts'
import type { HistoryLine } from '../history/lines.ts'

export interface ThreadMeta {
  id: string
  cwd: string | undefined
  /** The thread that started this one as a subagent; null if a person uses it. */
  parent: string | null
  /** What the subagent is for. */
  role: string | undefined
  /** When the thread was created, in milliseconds. */
  created_at: number
  /** The thread from which this one was forked. */
  forked_from: string | undefined
}

/** Returns null if the line does not describe a thread. */
export function metaOf(value: Fields): ThreadMeta | null {
  const meta = fieldsOf(value['payload'])
  const id = textOf(meta['id'])
  if (value['type'] !== 'session_meta' || id === undefined) return null
  const source = fieldsOf(meta['source'])
  const spawn = fieldsOf(fieldsOf(source['subagent'])['thread_spawn'])
  const root = textOf(meta['session_id'])
  const parent =
    textOf(spawn['parent_thread_id']) ??
    textOf(meta['parent_thread_id']) ??
    (source['subagent'] !== undefined ? textOf(meta['forked_from_id']) : undefined) ??
    (root === id ? undefined : root)
  return {
    ...{ id, cwd: textOf(meta['cwd']), parent: parent ?? null },
    role: textOf(spawn['agent_role']) ?? textOf(spawn['agent_nickname']) ?? textOf(source['subagent']),
    created_at: Date.parse(textOf(meta['timestamp']) ?? textOf(value['timestamp']) ?? ''),
    forked_from: textOf(meta['forked_from_id']),
  }
}

/**
 * Yields the lines of the thread itself. A fork may begin with a copy of the other thread's lines, with the times of the copy.
 * Its own lines begin with the first turn that was started after the fork.
 */
export function* ownLines(
  { id, created_at, forked_from }: ThreadMeta,
  lines: Iterable<HistoryLine>,
): Generator<HistoryLine> {
  let copied = forked_from !== undefined
  for (const line of lines) {
    const payload = fieldsOf(line.value['payload'])
    if (line.value['type'] === 'session_meta' && textOf(payload['id']) !== id) continue
    if (copied && isTurn(line.value, payload)) copied = startOf(line, payload) <= created_at
    const thread = textOf(payload['thread_id'])
    if (!copied && (thread === undefined || thread === id)) yield line
  }
}

function isTurn({ type }: Fields, payload: Fields): boolean {
  return type === 'turn_context' || (type === 'event_msg' && STARTS.has(String(payload['type'])))
}
const STARTS: ReadonlySet<string> = new Set(['task_started', 'turn_started', 'user_message'])

/** A turn's id contains the time of its start. Older versions wrote no ids; a copy is written at once. */
function startOf({ at }: HistoryLine, payload: Fields): number {
  const id = textOf(payload['turn_id'])
  if (id === undefined) return at - COPY_MS
  const time = /^([0-9a-f]{8})-([0-9a-f]{4})-7/.exec(id)
  return time === null ? at - COPY_MS : Number.parseInt(`${time[1]}${time[2]}`, 16)
}
const COPY_MS = 2_000
