/** Builds small history files in the clients' formats. */
import type { HistoryLine } from '../../../../src/cli/import/history/lines.ts'
import type { HistoryEvent } from '../../../../src/cli/import/history/recorder.ts'

export const START = Date.parse('2026-01-05T08:00:00.000Z')
export const DAY_MS = 86_400_000
export const CWD = '/home/ada/shop'

/** A time, in seconds after the start. */
export const timeOf = (second: number): string => new Date(START + second * 1_000).toISOString()

export type Line = Record<string, unknown>
export const linesOf = (lines: readonly Line[]): HistoryLine[] =>
  lines.map((value) => ({ at: Date.parse(value['timestamp'] as string), value }))
export const fileOf = (lines: readonly Line[]): string =>
  lines.map((line) => `${JSON.stringify(line)}\n`).join('')

/** Each event as its kind, the agent, the turn and the data, without what is equal in all of them. */
export const shown = (events: Iterable<HistoryEvent>): [string, HistoryEvent['data']][] =>
  [...events].map(({ kind, data, agent_id, turn_seq }) => [
    `${kind} ${turn_seq}${agent_id === null ? '' : ` of ${agent_id}`}`,
    data,
  ])

// --- Claude Code

export const claude = (second: number, type: string, more: Line = {}): Line => ({
  ...{ type, timestamp: timeOf(second), cwd: CWD, sessionId: 's1', isSidechain: false },
  ...more,
})
export const says = (second: number, content: unknown, more: Line = {}): Line =>
  claude(second, 'user', { message: { role: 'user', content }, promptId: `p${second}`, ...more })
export const result = (second: number, id: string, content: unknown, more: Line = {}): Line =>
  says(
    second,
    [
      {
        type: 'tool_result',
        tool_use_id: id,
        content,
        ...(more['failed'] === true ? { is_error: true } : {}),
      },
    ],
    more,
  )
export const answers = (second: number, content: unknown[], more: Line = {}): Line => {
  const { usage, stop, ...rest } = more
  const message = {
    ...{ id: `m${second}`, role: 'assistant', model: 'opus', content },
    ...{ stop_reason: stop ?? 'tool_use', usage },
  }
  return claude(second, 'assistant', { message, ...rest })
}
export const call = (id: string, name = 'Bash', input: object = { command: 'ls' }) => ({
  ...{ type: 'tool_use', id, name, input },
})
export const text = (words: string) => ({ type: 'text', text: words })

// --- Codex

export const codex = (second: number, type: string, payload: Line): Line => ({
  ...{ timestamp: timeOf(second), type, payload },
})
export const meta = (second: number, id: string, more: Line = {}): Line =>
  codex(second, 'session_meta', { id, session_id: id, timestamp: timeOf(second), cwd: CWD, ...more })
export const event = (second: number, type: string, more: Line = {}): Line =>
  codex(second, 'event_msg', { type, ...more })
export const item = (second: number, type: string, more: Line = {}): Line =>
  codex(second, 'response_item', { type, ...more })
export const user = (second: number, words: string): Line =>
  item(second, 'message', { role: 'user', content: [{ type: 'input_text', text: words }] })
/** An id with the time of its creation, as Codex assigns it. */
export const idAt = (second: number): string => {
  const hex = (START + second * 1_000).toString(16).padStart(12, '0')
  return `${hex.slice(0, 8)}-${hex.slice(8)}-7000-8000-000000000000`
}
