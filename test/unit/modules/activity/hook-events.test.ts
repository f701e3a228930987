import { describe, expect, test } from 'vitest'
import { hookEvents, type HookSession } from '../../../../src/modules/activity/hook-events.ts'

const NONE: HookSession = { request_id: null, waiting: [] }
const events = (body: object, session: HookSession = NONE) =>
  hookEvents(body as Record<string, unknown>, session)

describe('hooks of Claude Code', () => {
  test('the start of a session has its project', () => {
    const body = { hook_event_name: 'SessionStart', session_id: 's', cwd: '/p', source: 'startup' }
    expect(events(body)).toEqual([
      { kind: 'session.started', agent_id: null, data: { project: '/p', reason: 'startup' } },
    ])
  })

  test('a prompt begins a turn, unless it was typed into the running one', () => {
    const body = { hook_event_name: 'UserPromptSubmit', prompt_id: 't1', prompt: 'fix it' }
    expect(events(body)).toEqual([
      {
        kind: 'request.started',
        agent_id: null,
        data: { request_id: 't1', prompt: 'fix it' },
        begins_turn: true,
      },
    ])
    expect(events(body, { request_id: 't1', waiting: [] })).toEqual([])
  })

  test('a tool call has an input, then an output or an error', () => {
    const call = { tool_name: 'Bash', tool_use_id: 'c1' }
    expect(
      events({ ...call, hook_event_name: 'PreToolUse', agent_id: 'a1', tool_input: { command: 'ls' } }),
    ).toEqual([
      {
        kind: 'action.started',
        agent_id: 'a1',
        data: { action_id: 'c1', tool: 'Bash', input: { command: 'ls' } },
      },
    ])
    const response = { stdout: 'a', stderr: '' }
    expect(
      events({ ...call, hook_event_name: 'PostToolUse', tool_response: response, duration_ms: 102 }),
    ).toEqual([
      {
        kind: 'action.ended',
        agent_id: null,
        data: { action_id: 'c1', tool: 'Bash', duration_ms: 102, output: JSON.stringify(response) },
      },
    ])
    expect(
      events({ ...call, hook_event_name: 'PostToolUseFailure', error: 'Exit code 3', duration_ms: 16 }),
    ).toEqual([
      {
        kind: 'action.failed',
        agent_id: null,
        data: { action_id: 'c1', tool: 'Bash', duration_ms: 16, error: 'Exit code 3' },
      },
    ])
  })

  test('a question and a plan wait for the person until the tool has run', () => {
    const call = { tool_name: 'AskUserQuestion', tool_use_id: 'q1' }
    expect(events({ ...call, hook_event_name: 'PreToolUse' }).map(({ kind, data }) => [kind, data])).toEqual([
      ['action.started', { action_id: 'q1', tool: 'AskUserQuestion' }],
      ['waiting.started', { waiting_id: 'q1', for: 'question', what: 'AskUserQuestion' }],
    ])
    const open = { request_id: 't1', waiting: ['q1'] }
    expect(events({ ...call, hook_event_name: 'PostToolUse' }, open)[0]).toMatchObject({
      kind: 'waiting.ended',
      data: { waiting_id: 'q1' },
    })
    const plan = { hook_event_name: 'PreToolUse', tool_name: 'ExitPlanMode', tool_use_id: 'p1' }
    expect(events(plan)[1]).toMatchObject({ data: { for: 'plan' } })
  })

  test('a permission is waited for until a tool has run', () => {
    expect(events({ hook_event_name: 'PermissionRequest', tool_name: 'Bash' })).toEqual([
      {
        kind: 'waiting.started',
        agent_id: null,
        data: { waiting_id: 'permission', for: 'permission', what: 'Bash' },
      },
    ])
    const body = { hook_event_name: 'PostToolUse', tool_name: 'Bash', tool_use_id: 'c1' }
    expect(events(body, { request_id: null, waiting: ['permission'] }).map(({ kind }) => kind)).toEqual([
      'waiting.ended',
      'action.ended',
    ])
    expect(events(body).map(({ kind }) => kind)).toEqual(['action.ended'])
  })

  test('a notification shows a wait only if it is about a permission', () => {
    const body = { hook_event_name: 'Notification', notification_type: 'permission_prompt' }
    expect(events(body)).toHaveLength(1)
    expect(events({ ...body, notification_type: 'idle_prompt' })).toEqual([])
  })

  test('a turn ends, or fails with its reason', () => {
    expect(events({ hook_event_name: 'Stop', prompt_id: 't1' })[0]?.data).toEqual({
      status: 'completed',
      request_id: 't1',
    })
    const failed = {
      hook_event_name: 'StopFailure',
      error: 'unknown',
      last_assistant_message: 'API Error: 400',
    }
    expect(events(failed)[0]?.data).toEqual({ status: 'failed', reason: 'unknown', error: 'API Error: 400' })
  })

  test('a subagent is a subtask of the main agent', () => {
    const agent = { agent_id: 'a1', agent_type: 'general-purpose' }
    expect(events({ ...agent, hook_event_name: 'SubagentStart' })).toEqual([
      {
        kind: 'subtask.started',
        agent_id: null,
        data: { subtask_id: 'a1', agent_type: 'general-purpose' },
      },
    ])
    const stop = { ...agent, hook_event_name: 'SubagentStop', last_assistant_message: 'done' }
    expect(events(stop)[0]).toMatchObject({ agent_id: null, data: { status: 'completed', result: 'done' } })
  })

  test('a compaction begins and ends', () => {
    expect(events({ hook_event_name: 'PreCompact', trigger: 'auto' })[0]?.data).toEqual({ trigger: 'auto' })
    expect(events({ hook_event_name: 'PostCompact', trigger: 'auto' })[0]?.kind).toBe('compaction.ended')
  })
})

test('Codex names the turn in its own way', () => {
  const body = { hook_event_name: 'UserPromptSubmit', turn_id: 't1', prompt: 'P2', model: 'fake-model' }
  expect(events(body)[0]?.data).toEqual({ request_id: 't1', prompt: 'P2' })
})

test('an unknown or unreadable payload shows nothing', () => {
  expect(events({})).toEqual([])
  expect(events({ hook_event_name: 'PreModelRequest' })).toEqual([])
  expect(events({ hook_event_name: 'PreToolUse', tool_name: 7, tool_use_id: '' })).toEqual([])
  expect(events({ hook_event_name: 'toString' })).toEqual([])
})
