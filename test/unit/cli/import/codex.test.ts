import { describe, expect, test } from 'vitest'
import { codexEvents, type ThreadFile } from '../../../../src/cli/import/codex/parse.ts'
import { metaOf } from '../../../../src/cli/import/codex/thread-meta.ts'
import {
  codex,
  CWD,
  DAY_MS,
  event,
  idAt,
  item,
  linesOf,
  meta,
  shown,
  START,
  user,
  type Line,
} from './history-lines.ts'

const fileOf = (lines: Line[]): ThreadFile => {
  const described = metaOf(lines[0] ?? {})
  if (described === null) throw new Error('no session_meta')
  return { meta: described, lines: linesOf(lines) }
}
const seen = (main: Line[], ...agents: Line[][]) =>
  shown(codexEvents({ main: fileOf(main), agents: agents.map(fileOf), until: START + 10 * DAY_MS }))

const turn = (second: number, ...lines: Line[]): Line[] => [
  event(second, 'task_started', { turn_id: idAt(second), model_context_window: 1_000 }),
  codex(second, 'turn_context', { turn_id: idAt(second), model: 'gpt' }),
  ...lines,
]
const exec = (second: number, call_id: string) =>
  item(second, 'function_call', { name: 'exec_command', call_id, arguments: '{"cmd":"ls"}' })
const output = (second: number, call_id: string, words: unknown) =>
  item(second, 'function_call_output', { call_id, output: words })
const usage = (input: number, cached: number, output_tokens: number) => ({
  ...{ input_tokens: input, cached_input_tokens: cached, output_tokens, total_tokens: input + output_tokens },
})
const done = (second: number, last_agent_message = 'Done.') =>
  event(second, 'task_complete', { last_agent_message })

describe('the history of Codex', () => {
  test('a turn with tools becomes a request with its calls', () => {
    const id = idAt(0)
    const events = seen([
      meta(0, id),
      ...turn(
        1,
        user(1, '<environment_context>\n<cwd>/x</cwd>'),
        user(2, 'list the files'),
        event(2, 'user_message', { message: 'list the files' }),
        exec(3, 'c1'),
        event(4, 'item_completed', {
          item: {
            ...{ type: 'CommandExecution', id: 'c1', exit_code: 0, aggregated_output: 'a.ts' },
            duration: { secs: 0, nanos: 5_000_000 },
          },
        }),
        output(5, 'c1', 'Process exited with code 0\nOutput:\na.ts'),
        exec(6, 'c2'),
        output(7, 'c2', 'Wall time: 1 s\nProcess exited with code 3\nOutput:\n'),
        item(8, 'custom_tool_call', { name: 'apply_patch', call_id: 'c3', input: '*** Begin Patch' }),
        item(9, 'custom_tool_call_output', {
          call_id: 'c3',
          output: '{"output":"ok","metadata":{"exit_code":0}}',
        }),
        done(10),
      ),
    ])
    expect(events).toEqual([
      ['session.started 0', { project: CWD, reason: 'import' }],
      ['request.started 1', { request_id: idAt(1), prompt: 'list the files', prompt_type: 'person' }],
      ['action.started 1', { action_id: 'c1', tool: 'exec_command', input: { cmd: 'ls' } }],
      ['action.ended 1', { action_id: 'c1', duration_ms: 5, exit_code: 0, output: 'a.ts' }],
      ['action.started 1', expect.objectContaining({ action_id: 'c2' })],
      ['action.failed 1', expect.objectContaining({ action_id: 'c2', exit_code: 3 })],
      ['action.started 1', { action_id: 'c3', tool: 'apply_patch', input: '*** Begin Patch' }],
      ['action.ended 1', { action_id: 'c3', duration_ms: 1_000, exit_code: 0, output: 'ok' }],
      ['request.ended 1', { request_id: idAt(1), status: 'completed' }],
      ['session.ended 1', { reason: 'import' }],
    ])
  })

  test('usage is counted by its records; older files have only sums, which are repeated', () => {
    const sum = (second: number, input: number, cached: number) =>
      event(second, 'token_count', {
        info: { total_token_usage: usage(input, 0, 0), last_token_usage: usage(10, cached, 2) },
      })
    const figures = { model: 'gpt', input_tokens: 6, cache_read_tokens: 4, output_tokens: 2 }
    const context = { context_tokens: 10, context_window: 1_000 }
    const old = seen([
      meta(0, idAt(0)),
      ...turn(1, user(1, 'go'), sum(2, 10, 4), sum(3, 10, 4), sum(4, 20, 4)),
    ])
    expect(old.filter(([kind]) => kind === 'usage 1')).toEqual([
      ['usage 1', { usage_id: 'total-10', ...figures, ...context }],
      ['usage 1', { usage_id: 'total-20', ...figures, ...context }],
    ])
    const record = codex(2, 'token_usage_record', {
      response_id: 'resp1',
      thread_id: idAt(0),
      usage: usage(10, 4, 2),
    })
    const current = seen([meta(0, idAt(0)), ...turn(1, user(1, 'go'), record, sum(3, 10, 4))])
    expect(current.filter(([kind]) => kind === 'usage 1')).toEqual([
      ['usage 1', { usage_id: 'resp1', ...figures, ...context }],
    ])
  })

  test('an interrupted turn, a failed one and a compaction', () => {
    const events = seen([
      meta(0, idAt(0)),
      ...turn(
        1,
        user(1, 'work long'),
        exec(2, 'c1'),
        output(3, 'c1', 'aborted by user'),
        event(3, 'turn_aborted', { reason: 'interrupted' }),
      ),
      ...turn(4, codex(4, 'compacted', { message: 'Summary.' }), done(5, '')),
      ...turn(6, user(6, 'again'), event(7, 'error', { message: 'stream lost' }), done(8)),
    ])
    expect(events.slice(3)).toEqual([
      ['action.failed 1', expect.objectContaining({ error: 'aborted by user' })],
      ['request.ended 1', { request_id: idAt(1), status: 'interrupted', reason: 'interrupted' }],
      ['compaction.started 1', {}],
      ['compaction.ended 1', {}],
      ['request.started 2', expect.objectContaining({ prompt: 'again' })],
      ['request.ended 2', { request_id: idAt(6), status: 'failed', error: 'stream lost' }],
      ['session.ended 2', { reason: 'import' }],
    ])
  })

  test.each([
    ['with ids of turns', (second: number) => ({ turn_id: idAt(second) })],
    ['of an older version, without them', () => ({})],
  ])('a fork %s contains only its own turns', (_, ids) => {
    const copied = [
      event(100, 'task_started', ids(1)),
      user(100, 'old'),
      exec(100, 'c1'),
      event(100, 'token_count', {
        info: { total_token_usage: usage(9, 0, 0), last_token_usage: usage(9, 0, 0) },
      }),
      done(100),
    ]
    const events = seen([
      meta(100, idAt(100), { forked_from_id: idAt(0) }),
      meta(100, idAt(0)),
      ...copied,
      event(200, 'task_started', ids(200)),
      user(200, 'new'),
      done(201),
    ])
    expect(events.map(([kind]) => kind)).toEqual([
      'session.started 0',
      'request.started 1',
      'request.ended 1',
      'session.ended 1',
    ])
    expect(events[0]?.[1]).toMatchObject({ continues: idAt(0) })
    expect(events[1]?.[1]).toMatchObject({ prompt: 'new' })
  })

  test('a subagent thread belongs to its session', () => {
    const source = { subagent: { thread_spawn: { parent_thread_id: idAt(0), agent_role: 'explorer' } } }
    const agent = [
      meta(3, idAt(3), { source }),
      ...turn(3, user(3, 'look around'), exec(4, 'c9'), output(5, 'c9', 'found'), done(6, 'There.')),
    ]
    const events = seen([meta(0, idAt(0)), ...turn(1, user(1, 'ask a helper')), done(9)], agent)
    expect(events.slice(2, 6)).toEqual([
      ['subtask.started 1', { subtask_id: idAt(3), agent_type: 'explorer', description: 'look around' }],
      [`action.started 1 of ${idAt(3)}`, expect.objectContaining({ action_id: 'c9' })],
      [`action.ended 1 of ${idAt(3)}`, expect.objectContaining({ output: 'found' })],
      ['subtask.ended 1', { subtask_id: idAt(3), status: 'completed', result: 'There.' }],
    ])
  })
})
