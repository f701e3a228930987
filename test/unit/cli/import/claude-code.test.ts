import { describe, expect, test } from 'vitest'
import { claudeEvents, type SubagentFile } from '../../../../src/cli/import/claude-code/parse.ts'
import {
  answers,
  call,
  claude,
  CWD,
  DAY_MS,
  linesOf,
  result,
  says,
  shown,
  START,
  text,
  timeOf,
  type Line,
} from './history-lines.ts'

const UNTIL = START + 10 * DAY_MS

function eventsOf(
  lines: readonly Line[],
  agents: (Omit<SubagentFile, 'lines'> & { lines: Line[] })[] = [],
  until = UNTIL,
) {
  const files = agents.map((agent) => ({ ...agent, lines: linesOf(agent.lines) }))
  return [...claudeEvents({ session_id: 's1', main: linesOf(lines), agents: files, until })]
}
const seen = (...args: Parameters<typeof eventsOf>) => shown(eventsOf(...args))
const USAGE = {
  input_tokens: 5,
  output_tokens: 1,
  cache_read_input_tokens: 10,
  cache_creation_input_tokens: 3,
}

describe('the history of Claude Code', () => {
  test('a turn with tools becomes a request with its calls', () => {
    const events = eventsOf([
      says(0, 'list the files'),
      answers(1, [call('t1')]),
      result(3, 't1', [text('a.ts')]),
      answers(4, [call('t2')]),
      result(5, 't2', 'Exit code 2\nno', { failed: true }),
      answers(6, [text('Done.')], { stop: 'end_turn' }),
      claude(7, 'system', { subtype: 'turn_duration' }),
    ])
    expect(shown(events)).toEqual([
      ['session.started 0', { project: CWD, reason: 'import' }],
      ['request.started 1', { request_id: 'p0', prompt: 'list the files', prompt_type: 'person' }],
      ['action.started 1', { action_id: 't1', tool: 'Bash', input: { command: 'ls' } }],
      ['action.ended 1', { action_id: 't1', duration_ms: 2_000, output: 'a.ts' }],
      ['action.started 1', expect.objectContaining({ action_id: 't2' })],
      ['action.failed 1', { action_id: 't2', duration_ms: 1_000, exit_code: 2, error: 'Exit code 2\nno' }],
      ['request.ended 1', { request_id: 'p0', status: 'completed' }],
      ['session.ended 1', { reason: 'import' }],
    ])
    expect(events.map(({ seq }) => seq)).toEqual([1, 2, 3, 4, 5, 6, 7, 8])
    expect(events.at(-1)?.at).toBe(timeOf(7))
  })

  test('a call that a person refused is denied, and the turn is interrupted', () => {
    const refused = "The user doesn't want to proceed with this tool use."
    const events = seen([
      says(0, 'go'),
      answers(1, [call('t1')]),
      result(2, 't1', refused, { failed: true, toolDenialKind: 'user-rejected' }),
      says(3, [text('[Request interrupted by user for tool use]')]),
    ])
    expect(events.slice(3, 5)).toEqual([
      ['action.failed 1', { action_id: 't1', duration_ms: 1_000, error: refused, denied: true }],
      ['request.ended 1', { request_id: 'p0', status: 'interrupted' }],
    ])
  })

  test('usage is reported once for each request and again when its figures grow', () => {
    const growing = { ...USAGE, output_tokens: 9 }
    const events = seen([
      says(0, 'go'),
      answers(1, [text('one')], { usage: USAGE, requestId: 'r1' }),
      answers(2, [call('t1')], { usage: USAGE, requestId: 'r1' }),
      answers(3, [call('t2')], { usage: growing, requestId: 'r1' }),
    ]).filter(([kind]) => kind.startsWith('usage'))
    const figures = {
      usage_id: 'r1',
      model: 'opus',
      input_tokens: 5,
      cache_read_tokens: 10,
      cache_write_tokens: 3,
    }
    expect(events).toEqual([
      ['usage 1', { ...figures, output_tokens: 1, context_tokens: 18 }],
      ['usage 1', { ...figures, output_tokens: 9, context_tokens: 18 }],
    ])
  })

  test('a subagent belongs to the turn that started it, and so does its usage', () => {
    const side = { isSidechain: true, agentId: 'a1' }
    const agent = {
      ...{ id: 'a1', type: 'explorer', description: 'look around', tool_use_id: 't1' },
      lines: [
        says(2, 'look', side),
        answers(5, [call('t9')], { usage: USAGE, ...side }),
        result(6, 't9', 'found', side),
        answers(7, [text('It is there.')], { stop: 'end_turn', ...side }),
      ],
    }
    const events = seen(
      [
        says(0, 'ask a helper'),
        answers(1, [call('t1', 'Agent')]),
        result(3, 't1', 'launched', { toolUseResult: { status: 'async_launched', agentId: 'a1' } }),
        answers(3, [text('Done.')], { stop: 'end_turn' }),
        says(4, 'another thing'),
      ],
      [agent],
    )
    expect(events.filter(([kind]) => kind.includes('subtask') || kind.includes('of a1'))).toEqual([
      ['subtask.started 1', { subtask_id: 'a1', agent_type: 'explorer', description: 'look around' }],
      ['usage 1 of a1', expect.not.objectContaining({ context_tokens: 18 })],
      ['action.started 1 of a1', expect.objectContaining({ action_id: 't9' })],
      ['action.ended 1 of a1', expect.objectContaining({ output: 'found' })],
      ['subtask.ended 1', { subtask_id: 'a1', status: 'completed', result: 'It is there.' }],
    ])
  })

  test('a compaction is recorded with its sizes, and its summary is not a prompt', () => {
    const events = seen([
      says(0, '<command-name>/compact</command-name><command-args></command-args>'),
      claude(1, 'system', {
        subtype: 'compact_boundary',
        compactMetadata: { trigger: 'manual', preTokens: 900 },
      }),
      says(2, 'This session is continued.', { isCompactSummary: true }),
    ])
    expect(events.slice(1, 3)).toEqual([
      ['compaction.started 0', { trigger: 'manual' }],
      ['compaction.ended 0', { tokens_before: 900 }],
    ])
    expect(events).toHaveLength(4)
  })

  test('injected context is not a prompt; a command is one if the model answers', () => {
    const events = seen([
      says(0, '<system-reminder>Be brief.</system-reminder>'),
      says(1, '<local-command-stdout>ok</local-command-stdout>'),
      says(2, 'Expanded.', { isMeta: true }),
      says(3, '<command-name>/review</command-name>\n<command-args>all</command-args>'),
      answers(4, [text('Fine.')], { stop: 'end_turn' }),
      says(5, '<task-notification>a1 ended</task-notification>'),
    ])
    const prompts = events.flatMap(([kind, data]) => (kind.startsWith('request.started') ? [data] : []))
    expect(prompts).toEqual([
      { request_id: 'p3', prompt: '/review all', prompt_type: 'person' },
      expect.objectContaining({ prompt_type: 'task' }),
    ])
  })

  test('an error of the API fails the turn', () => {
    const lines = [says(0, 'go'), answers(1, [text('API Error: 500')], { isApiErrorMessage: true })]
    expect(seen(lines)[2]).toEqual([
      'request.ended 1',
      { request_id: 'p0', status: 'failed', error: 'API Error: 500' },
    ])
  })

  test('copied messages of another session are left out', () => {
    const events = seen([
      says(0, 'old', { forkedFrom: { sessionId: 's0', messageUuid: 'u' } }),
      says(1, 'older', { sessionId: 's0' }),
      says(2, 'new'),
    ])
    expect(events.map(([kind]) => kind)).toEqual([
      'session.started 0',
      'request.started 1',
      'session.ended 1',
    ])
  })
})

describe('the numbers of events', () => {
  const ONE = [says(0, 'one'), answers(1, [text('Done.')], { stop: 'end_turn' })]
  const TWO = [says(7_200, 'two'), answers(7_201, [text('Done.')], { stop: 'end_turn' })]

  test('the events of a file that has grown begin with the former ones', () => {
    const before = eventsOf(ONE, [], START + 3_600_000)
    expect(before.at(-1)?.kind).toBe('session.ended')
    const after = eventsOf([...ONE, ...TWO])
    expect(after.slice(0, before.length)).toEqual(before)
    expect(shown(after.slice(before.length)).map(([kind]) => kind)).toEqual([
      'session.started 1',
      'request.started 2',
      'request.ended 2',
      'session.ended 2',
    ])
  })

  test('a session whose turn may still run does not end before a day has passed', () => {
    const lines = [says(0, 'one'), answers(1, [call('t1')])]
    const open = eventsOf(lines, [], START + DAY_MS / 2)
    expect(open.at(-1)?.kind).toBe('action.started')
    const night = eventsOf([...lines, result(30_000, 't1', 'ok')], [], START + DAY_MS / 2)
    expect(night.slice(0, open.length)).toEqual(open)
    expect(night.at(-1)?.kind).toBe('action.ended')
    expect(eventsOf(lines, [], START + 2 * DAY_MS).at(-1)?.kind).toBe('session.ended')
  })
})
