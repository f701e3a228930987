/** Tests which requests and calls are recorded from the messages of a Codex app-server about one thread. */
import { beforeEach, describe, expect, test } from 'vitest'
import type { Captured } from '../../../../adapters/activity/captured.ts'
import type { Json } from '../../../../src/contracts/ids.ts'
import {
  approval,
  command,
  iso,
  itemCompleted,
  itemStarted,
  resolved,
  THREAD,
  tokens,
  turn,
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

describe('turns of a Codex thread', () => {
  test('a turn is a request with its prompt and its end', () => {
    receive(...prompted(1), itemCompleted(1, userMessage('do it')), turnCompleted(1))
    expect(events).toMatchObject([
      {
        kind: 'request.started',
        data: { request_id: turnId(1), prompt: 'do it', prompt_type: 'person' },
        ...{ at: iso(1), turn_seq: 1, agent_id: undefined },
      },
      { kind: 'request.ended', data: { request_id: turnId(1), status: 'completed' }, turn_seq: 1 },
    ])
    expect(thread.turns).toEqual([
      { turn_id: turnId(1), ended: false },
      { turn_id: turnId(1), ended: true },
    ])
  })

  test('a doorbell of the persona is no prompt of a person', () => {
    const bell = 'turnbell:ada:01KJMHHR00AAAAAAAAAAAAAAAA'
    receive(turnStarted(1), itemStarted(1, userMessage('[turnbell] 1 signal waits', bell)))
    receive(turnCompleted(1), turnStarted(2), itemStarted(2, userMessage('x', 'turnbell:bob:1')))
    expect(dataOf('request.started')).toMatchObject([{ prompt_type: 'doorbell' }, { prompt_type: 'person' }])
  })

  test('a text that was typed during the turn begins no other request', () => {
    receive(...prompted(1), itemStarted(1, userMessage('and this')), turnCompleted(1))
    expect(kinds()).toEqual(['request.started', 'request.ended'])
  })

  test('images of a prompt are named', () => {
    const content = [
      { type: 'text', text: 'see' },
      { type: 'localImage', path: '/a.png' },
      { type: 'image', url: 'data:x' },
    ]
    receive(turnStarted(1), itemStarted(1, { type: 'userMessage', id: 'u', content }))
    expect(dataOf('request.started')).toMatchObject([{ prompt: 'see\n[localImage /a.png]\n[image]' }])
  })

  test.each([
    ['interrupted', null, { status: 'interrupted' }],
    [
      'failed',
      { message: 'no model', codexErrorInfo: { httpConnectionFailed: { httpStatusCode: 500 } } },
      { status: 'failed', error: 'no model', reason: 'httpConnectionFailed' },
    ],
  ])('a turn that was %s ends like that', (status, error, expected) => {
    receive(...prompted(1), turnCompleted(1, { status, error }))
    expect(dataOf('request.ended')).toEqual([{ request_id: turnId(1), ...expected }])
  })

  test('an error is recorded', () => {
    const error = { message: 'too many', codexErrorInfo: 'usageLimitExceeded', additionalDetails: null }
    const params = { threadId: THREAD, turnId: turnId(1), error, willRetry: false }
    receive(...prompted(1), { method: 'error', params })
    expect(dataOf('error')).toEqual([{ what: 'usageLimitExceeded', message: 'too many' }])
  })

  test('messages of other threads are ignored', () => {
    const other = '01a231b3-ffff-7600-8227-d4c138fa58ec'
    receive(turnStarted(1, other), itemStarted(1, userMessage('x'), other), tokens(1, 1, 1, other))
    receive(itemStarted(1, command('c', 'ls'), other), turnCompleted(1, {}, other))
    receive({ ...approval(1, 'c'), params: { ...approval(1, 'c').params, threadId: other } })
    expect(events).toEqual([])
  })
})

describe('calls of a Codex thread', () => {
  test('a command is a call of Bash with its output and exit code', () => {
    const ended = { status: 'completed', aggregatedOutput: 'hi\n', exitCode: 0, durationMs: 62 }
    receive(...prompted(1), itemStarted(1, command('c1', 'echo hi')))
    receive(itemCompleted(1, command('c1', 'echo hi', ended)), turnCompleted(1))
    expect(events.slice(1, 3)).toMatchObject([
      {
        kind: 'action.started',
        data: {
          action_id: 'c1',
          tool: 'Bash',
          input: { command: "/bin/bash -lc 'echo hi'", cwd: '/projects/a' },
        },
        turn_seq: 1,
      },
      {
        kind: 'action.ended',
        data: { action_id: 'c1', tool: 'Bash', output: 'hi\n', exit_code: 0, duration_ms: 62 },
      },
    ])
  })

  test('a command that fails has its output as the error', () => {
    const ended = { status: 'failed', aggregatedOutput: 'bad\n', exitCode: 3, durationMs: 5 }
    receive(
      ...prompted(1),
      itemStarted(1, command('c1', 'false')),
      itemCompleted(1, command('c1', 'false', ended)),
    )
    expect(dataOf('action.failed')).toEqual([
      { action_id: 'c1', tool: 'Bash', error: 'bad\n', exit_code: 3, duration_ms: 5 },
    ])
  })

  test('a command that outlives its turn ends in the request in which it began', () => {
    receive(...prompted(1), itemStarted(1, command('c1', 'sleep 9')), turnCompleted(1), ...prompted(2))
    receive(itemCompleted(1, command('c1', 'sleep 9', { status: 'completed', exitCode: 0 })))
    expect(kinds().filter((kind) => kind.startsWith('request'))).toHaveLength(3)
    expect(events.at(-1)).toMatchObject({ kind: 'action.ended', turn_seq: 1 })
  })

  test('a file change is a call of apply_patch with its paths', () => {
    const changes = [{ path: '/projects/a/a.txt', kind: { type: 'add' }, diff: 'hello\n' }]
    const change = { type: 'fileChange', id: 'c1', changes, status: 'inProgress' }
    receive(...prompted(1), itemStarted(1, change), itemCompleted(1, { ...change, status: 'completed' }))
    expect(dataOf('action.started')).toEqual([{ action_id: 'c1', tool: 'apply_patch', input: { changes } }])
    expect(dataOf('action.ended')).toEqual([{ action_id: 'c1', tool: 'apply_patch', duration_ms: 200 }])
  })

  test('a call of an MCP tool has its arguments, and its result or its error', () => {
    const call = {
      ...{ type: 'mcpToolCall', id: 'c1', server: 'turnbell', tool: 'signals', status: 'inProgress' },
      ...{ arguments: { action: 'list' }, result: null, error: null, durationMs: null },
    }
    const result = { content: [{ type: 'text', text: '[]' }], structuredContent: null, _meta: null }
    receive(...prompted(1), itemStarted(1, call))
    receive(itemCompleted(1, { ...call, status: 'completed', result, durationMs: 7 }))
    receive(itemCompleted(1, { ...call, id: 'c2', status: 'failed', error: { message: 'gone' } }))
    expect(dataOf('action.started')[0]).toEqual({
      ...{ action_id: 'c1', tool: 'mcp__turnbell__signals', input: { action: 'list' } },
    })
    expect(dataOf('action.ended')).toMatchObject([{ action_id: 'c1', output: '[]', duration_ms: 7 }])
    expect(dataOf('action.failed')).toMatchObject([{ action_id: 'c2', error: 'gone' }])
  })

  test.each<[string, object, string, Json, object]>([
    [
      'webSearch',
      { query: 'q', action: null, results: [{ url: 'u' }] },
      'web_search',
      { query: 'q' },
      { output: '[{"url":"u"}]' },
    ],
    ['imageView', { path: '/a.png' }, 'view_image', { path: '/a.png' }, {}],
    [
      'imageGeneration',
      { status: 'completed', revisedPrompt: 'a cat', savedPath: '/cat.png' },
      'image_generation',
      { prompt: 'a cat' },
      { output: '/cat.png' },
    ],
    ['sleep', { durationMs: 5 }, 'sleep', { duration_ms: 5 }, {}],
    [
      'dynamicToolCall',
      {
        namespace: 'ide',
        tool: 'open',
        arguments: { a: 1 },
        status: 'completed',
        contentItems: [{ type: 'inputText', text: 'ok' }],
      },
      'ide.open',
      { a: 1 },
      { output: 'ok' },
    ],
  ])('an item of the type %s is a call', (type, fields, tool, input, ended) => {
    receive(...prompted(1), itemCompleted(1, { type, id: 'c1', ...fields }))
    expect(dataOf('action.started')).toEqual([{ action_id: 'c1', tool, input }])
    expect(dataOf('action.ended')).toMatchObject([{ action_id: 'c1', tool, ...ended }])
  })

  test('messages of the model and unknown items are no calls', () => {
    for (const type of ['agentMessage', 'reasoning', 'plan', 'somethingNew'])
      receive(
        ...prompted(1),
        itemStarted(1, { type, id: type, text: 'x' }),
        itemCompleted(1, { type, id: type }),
      )
    expect(kinds()).toEqual(['request.started'])
  })

  test('a declined call was denied, and its wait ends', () => {
    const [before, after] = [
      command('c1', 'rm x', { source: 'agent' }),
      command('c1', 'rm x', { status: 'declined' }),
    ]
    receive(...prompted(1), itemStarted(1, before), approval(1, 'c1'), approval(1, 'c1'), resolved(1))
    receive(itemCompleted(1, after), turnCompleted(1))
    expect(kinds().slice(1, -1)).toEqual([
      'action.started',
      'waiting.started',
      'waiting.ended',
      'action.failed',
    ])
    expect(dataOf('waiting.started')).toEqual([{ waiting_id: 'c1', for: 'permission', what: 'Bash' }])
    expect(dataOf('waiting.ended')).toEqual([{ waiting_id: 'c1' }])
    expect(dataOf('action.failed')).toMatchObject([{ action_id: 'c1', denied: true }])
  })
})

describe('turns that are read after a subscription', () => {
  const items = [
    { ...userMessage('do it'), startedAtMs: 1, completedAtMs: 1 },
    { ...command('c1', 'ls', { status: 'completed', exitCode: 0 }), startedAtMs: 2, completedAtMs: 3 },
    { ...command('c2', 'sleep'), startedAtMs: 4, completedAtMs: null },
  ]

  test('only the part of a turn that was not recorded is recorded', () => {
    receive(...prompted(1))
    thread.activity.catchUp({ ...turn(1), items })
    receive(itemStarted(1, command('c2', 'sleep')), turnCompleted(1))
    expect(kinds()).toEqual([
      'request.started',
      ...['action.started', 'action.ended', 'action.started'],
      'request.ended',
    ])
    thread.activity.catchUp({ ...turn(1, { status: 'completed' }), items })
    expect(events).toHaveLength(5)
  })

  test('a turn that another process has begun to record gets no second request', () => {
    open({ turn_id: turnId(1), ended: false })
    thread.activity.catchUp({ ...turn(1, { status: 'completed' }), items: items.slice(0, 2) })
    thread.activity.catchUp({ ...turn(2, { status: 'completed', startedAt: 2 }), items: [items[0]] })
    expect(kinds()).toEqual([
      ...['action.started', 'action.ended', 'request.ended'],
      ...['request.started', 'request.ended'],
    ])
    expect(dataOf('request.ended')).toMatchObject([{ request_id: turnId(1) }, { request_id: turnId(2) }])
  })

  test('a turn that was recorded is not recorded again', () => {
    open({ turn_id: turnId(2), ended: true })
    for (const n of [1, 2]) thread.activity.catchUp({ ...turn(n, { status: 'completed' }), items })
    expect(events).toEqual([])
  })
})
