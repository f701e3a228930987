/** Tests which waits, compactions, usage and subagents are recorded from the messages of a Codex app-server. */
import { beforeEach, describe, expect, test } from 'vitest'
import type { Captured } from '../../../../adapters/activity/captured.ts'
import {
  approval,
  CHILD,
  command,
  itemCompleted,
  itemStarted,
  THREAD,
  tokens,
  turnCompleted,
  turnId,
  turnStarted,
  userMessage,
} from '../../../support/codex/messages.ts'
import { recordedThread } from '../../../support/codex/recorded-thread.ts'

let thread: ReturnType<typeof recordedThread>
let events: typeof thread.events
function open(before?: Parameters<typeof recordedThread>[0]): void {
  thread = recordedThread(before)
  ;({ events } = thread)
}
beforeEach(() => open())

const receive = (...messages: object[]) => thread.receive(...messages)
const kinds = () => thread.kinds()
const dataOf = (kind: Captured['kind']) => thread.dataOf(kind)
const prompted = (n: number, text = 'do it') => [turnStarted(n), itemStarted(n, userMessage(text))]

describe('waits, compactions and usage of a Codex thread', () => {
  test('questions and approvals of other kinds are waits, and end with the turn', () => {
    const asked = { threadId: THREAD, turnId: turnId(1), itemId: 'q1', startedAtMs: 1 }
    const of = (id: number, method: string, more: object) => ({ id, method, params: { ...asked, ...more } })
    receive(...prompted(1), approval(1, 'f1', 1, 'fileChange'), approval(1, 'p1', 2, 'permissions'))
    receive(of(3, 'item/tool/requestUserInput', { questions: [{ id: 'q', question: 'Which?' }] }))
    const form = { serverName: 'files', _meta: { codex_approval_kind: 'mcp_tool_call' } }
    receive(of(4, 'mcpServer/elicitation/request', form))
    receive(of(5, 'mcpServer/elicitation/request', { serverName: 'files', _meta: null, message: 'Name?' }))
    receive(turnCompleted(1, { status: 'interrupted' }))
    expect(dataOf('waiting.started')).toEqual([
      { waiting_id: 'f1', for: 'permission', what: 'apply_patch' },
      { waiting_id: 'p1', for: 'permission', what: 'request_permissions' },
      { waiting_id: 'q1', for: 'question', what: 'Which?' },
      { waiting_id: 'request-4', for: 'permission', what: 'files' },
      { waiting_id: 'request-5', for: 'question', what: 'files' },
    ])
    expect(dataOf('waiting.ended')).toHaveLength(5)
    expect(kinds().at(-1)).toBe('request.ended')
  })

  test('a compaction has the size of the context before and after it', () => {
    const item = { type: 'contextCompaction', id: 'k1' }
    receive(...prompted(1), tokens(1, 10, 10), turnCompleted(1), turnStarted(2), itemStarted(2, item))
    receive(tokens(2, 11, 2), itemCompleted(2, item), turnCompleted(2))
    expect(dataOf('request.started')[1]).toEqual({ request_id: turnId(2), prompt_type: 'compaction' })
    expect(dataOf('compaction.started')).toEqual([{}])
    expect(dataOf('compaction.ended')).toEqual([{ tokens_before: 1_200, tokens_after: 240 }])
  })

  test('the usage of a turn is what the thread used since the turn began', () => {
    receive(
      ...prompted(1),
      tokens(1, 5, 1),
      tokens(1, 6, 1),
      turnCompleted(1),
      ...prompted(2),
      tokens(2, 7, 1),
    )
    const figures = (requests: number) => ({
      ...{ input_tokens: 60 * requests, cache_read_tokens: 40 * requests, cache_write_tokens: 0 },
      ...{ output_tokens: 20 * requests, context_tokens: 120, context_window: 258_400, model: 'scripted' },
    })
    expect(dataOf('usage')).toEqual([
      { usage_id: turnId(1), ...figures(1) },
      { usage_id: turnId(1), ...figures(2) },
      { usage_id: turnId(2), ...figures(1) },
    ])
  })

  test('figures of an ended turn, which are repeated when the thread is opened, are not recorded', () => {
    receive(...prompted(1), tokens(1, 5, 1), turnCompleted(1), tokens(1, 5, 1))
    expect(dataOf('usage')).toHaveLength(1)
  })
})

describe('subagents of a Codex thread', () => {
  const spawn = (more: object = {}) => ({
    ...{
      type: 'collabAgentToolCall',
      id: 'c1',
      tool: 'spawnAgent',
      status: 'inProgress',
      senderThreadId: THREAD,
    },
    ...{ receiverThreadIds: [], prompt: 'look', model: 'scripted', agentsStates: {}, ...more },
  })
  const spawned = spawn({
    status: 'completed',
    receiverThreadIds: [CHILD],
    agentsStates: { [CHILD]: { status: 'pendingInit' } },
  })

  test('a subagent is a subtask with its own calls, in the request that started it', () => {
    receive(...prompted(1), itemStarted(1, spawn()), itemCompleted(1, spawned), turnStarted(2, CHILD))
    receive(itemStarted(2, userMessage('look'), CHILD), turnCompleted(1), ...prompted(3))
    const ended = { status: 'completed', aggregatedOutput: 'x', exitCode: 0 }
    receive(itemStarted(2, command('c2', 'ls'), CHILD), itemCompleted(2, command('c2', 'ls', ended), CHILD))
    const items = [{ type: 'agentMessage', id: 'm', text: 'found' }]
    receive(tokens(2, 1, 1, CHILD), turnCompleted(2, { items }, CHILD))
    expect(dataOf('action.started')[0]).toMatchObject({ tool: 'spawn_agent', input: { prompt: 'look' } })
    const of_child = { turn_seq: 1, agent_id: CHILD }
    expect(events.filter(({ kind }) => /subtask|usage/.test(kind))).toMatchObject([
      { kind: 'subtask.started', data: { subtask_id: CHILD, description: 'look' }, turn_seq: 1 },
      { kind: 'usage', ...of_child },
      {
        kind: 'subtask.ended',
        data: { subtask_id: CHILD, status: 'completed', result: 'found' },
        turn_seq: 1,
      },
    ])
    expect(events.filter(({ agent_id }) => agent_id === CHILD)).toMatchObject([
      { kind: 'action.started', ...of_child },
      { kind: 'action.ended', ...of_child },
      { kind: 'usage' },
    ])
    expect(dataOf('request.started')).toHaveLength(2)
  })

  test('a subagent that is continued runs again, and one that is closed was interrupted', () => {
    receive(...prompted(1), itemCompleted(1, spawned), turnCompleted(2, {}, CHILD), turnStarted(3, CHILD))
    const close = spawn({
      id: 'c9',
      tool: 'closeAgent',
      status: 'completed',
      receiverThreadIds: [CHILD],
      agentsStates: { [CHILD]: { status: 'shutdown' } },
    })
    receive(itemCompleted(1, close))
    expect(
      events.filter(({ kind }) => kind.startsWith('subtask')).map(({ kind, data }) => [kind, data]),
    ).toEqual([
      ['subtask.started', { subtask_id: CHILD, description: 'look' }],
      ['subtask.ended', { subtask_id: CHILD, status: 'completed' }],
      ['subtask.started', { subtask_id: CHILD }],
      ['subtask.ended', { subtask_id: CHILD, status: 'interrupted' }],
    ])
  })

  test('a subagent that the client only reports is a subtask', () => {
    const item = (id: string, kind: string) => ({
      type: 'subAgentActivity',
      id,
      kind,
      agentThreadId: CHILD,
      agentPath: '/root/kid',
    })
    receive(...prompted(1), itemStarted(1, item('s1', 'started')), itemCompleted(1, item('s1', 'started')))
    receive(itemCompleted(1, item('s2', 'completed')))
    expect(dataOf('subtask.started')).toEqual([{ subtask_id: CHILD, agent_type: '/root/kid' }])
    expect(dataOf('subtask.ended')).toEqual([{ subtask_id: CHILD, status: 'completed' }])
  })
})
