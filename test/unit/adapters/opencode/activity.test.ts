/** Tests what is recorded of opencode's sessions, from its events. */
import { beforeEach, describe, expect, test } from 'vitest'
import type { Captured } from '../../../../adapters/activity/captured.ts'
import type { SessionInfo } from '../../../../adapters/opencode/activity/client-events.ts'
import {
  createOpencodeActivity,
  type OpencodeActivity,
  type SessionReader,
} from '../../../../adapters/opencode/activity/opencode-activity.ts'
import { bellMetadata, isBellMetadata } from '../../../../adapters/opencode/session-tracker.ts'
import { ReportedEvent } from '../../../../src/contracts/activity/event.ts'
import { silentLog } from '../../../../src/ports/log.ts'
import { atRest } from '../../../support/fakes/fake-clock.ts'
import { opencodeEvents, TOKENS, type ClientPayload } from '../../../support/opencode-events.ts'

type Recorded = Captured & { session_id: string; agent_id: string | undefined; turn_seq: number }
type Events = ReturnType<typeof opencodeEvents>

let events: Recorded[]
let failures: string[]
let known: string[]
let stored: SessionInfo[]
let busy: boolean
let activity: OpencodeActivity
let main: Events
const reader: SessionReader = {
  session: async ({ id }) => stored.find((one) => one.id === id) ?? null,
  isBusy: async () => busy,
  lastFailure: async () => ({ name: 'MessageAbortedError' }),
}
const PROCESS = { pid: 7, pid_started: 'boot:1' }

function open(): OpencodeActivity {
  const turns = new Map<string, number>()
  return createOpencodeActivity({
    log: {
      record(fact, { session_id, turn_seq, agent_id, at, source }) {
        const last = (turns.get(session_id) ?? 0) + (fact.kind === 'request.started' ? 1 : 0)
        turns.set(session_id, last)
        const event = { ...fact, session_id, agent_id, turn_seq: turn_seq ?? last }
        events.push(event)
        const fixed = { seq: 1, event_id: '01KJMHHR00AAAAAAAAAAAAAAAA', at: at ?? '2026-03-01T12:00:00.000Z' }
        ReportedEvent.parse({ ...event, agent_id: agent_id ?? null, source, ...fixed })
        return event.turn_seq
      },
      isKnown: (session_id) => known.includes(session_id),
    },
    isBell: (metadata) => isBellMetadata(metadata, 'ada'),
    logger: {
      ...silentLog,
      error: (fields, message) => failures.push(`${message} ${JSON.stringify(fields)}`),
    },
  })
}

beforeEach(async () => {
  events = []
  failures = []
  known = []
  stored = []
  busy = false
  activity = open()
  main = opencodeEvents('ses_1')
  await activity.attached(PROCESS, reader)
})

function reports(...payloads: (ClientPayload | ClientPayload[])[]): void {
  for (const payload of payloads.flat()) activity.handle(payload, '/project')
  expect(failures).toEqual([])
}
const kinds = () => events.map(({ kind }) => kind)
const of = (kind: Captured['kind']) => events.filter((event) => event.kind === kind)
const dataOf = (kind: Captured['kind']) => of(kind).map(({ data }) => data)

describe('requests', () => {
  test('a turn with a tool is a request with its prompt, its call, its usage and its end', () => {
    const call = main.call('bash', { command: 'echo hi' })
    reports(main.created(), main.prompt('Try it'), main.answers(), call.pending(), call.running())
    reports(call.running({ output: 'h' }), call.running({ output: 'hi' }), call.completed('hi', { exit: 0 }))
    reports(
      main.answered(),
      main.answers(),
      main.text('Done'),
      main.answered(),
      main.status('busy'),
      main.idle(),
    )
    expect(kinds()).toEqual([
      ...['session.started', 'request.started', 'action.started', 'action.ended', 'usage', 'usage'],
      'request.ended',
    ])
    expect(dataOf('session.started')).toEqual([{ project: '/project', model: 'local/small', ...PROCESS }])
    expect(dataOf('request.started')).toMatchObject([{ prompt: 'Try it', prompt_type: 'person' }])
    expect(dataOf('action.started')).toEqual([
      { action_id: call.id, tool: 'bash', input: { command: 'echo hi' } },
    ])
    expect(dataOf('action.ended')).toEqual([
      { action_id: call.id, tool: 'bash', output: 'hi', exit_code: 0, duration_ms: 5 },
    ])
    expect(dataOf('request.ended')).toMatchObject([{ status: 'completed' }])
    expect(events.map(({ turn_seq }) => turn_seq)).toEqual([0, 1, 1, 1, 1, 1, 1])
  })

  test('a doorbell is a request of its own kind, and one that was merged with a prompt is the prompt of the person', () => {
    const metadata = bellMetadata('ada', '01KJMHHR00AAAAAAAAAAAAAAAA')
    reports(main.created(), main.prompt('ring', { metadata }), main.answers(), main.answered(), main.idle())
    reports(main.prompt('ring', { metadata }), main.prompt('And this'), main.answers(), main.idle())
    reports(main.prompt('ring', { metadata: { turnbell: 'bob:x' } }), main.answers(), main.idle())
    expect(dataOf('request.started')).toMatchObject([
      { prompt: 'ring', prompt_type: 'doorbell' },
      { prompt: 'ring\n\nAnd this', prompt_type: 'person' },
      { prompt: 'ring', prompt_type: 'person' },
    ])
  })

  test('a prompt that is answered in the same turn ends the request before it', () => {
    reports(main.created(), main.prompt('One'), main.answers(), main.answered())
    reports(main.prompt('Two'), main.answers(), main.answered(), main.idle())
    expect(kinds().filter((kind) => kind.startsWith('request'))).toEqual([
      ...['request.started', 'request.ended', 'request.started', 'request.ended'],
    ])
    expect(of('request.ended').map(({ turn_seq }) => turn_seq)).toEqual([1, 2])
  })

  test('an aborted turn is interrupted, and a call that it ended has failed', () => {
    const call = main.call('bash', { command: 'sleep 9' })
    reports(main.created(), main.prompt('Wait'), main.answers(), call.running())
    reports(
      main.failed('MessageAbortedError', 'Aborted'),
      main.idle(),
      call.completed('(no output)', { exit: null }),
    )
    reports(main.answer({ error: { name: 'MessageAbortedError' } }), main.idle())
    expect(kinds().slice(3)).toEqual(['request.ended', 'action.failed'])
    expect(dataOf('request.ended')).toMatchObject([{ status: 'interrupted', reason: 'MessageAbortedError' }])
    expect(of('action.failed')).toMatchObject([{ turn_seq: 1, data: { error: '(no output)' } }])
  })

  test('a turn that failed has the error, and so has a prompt that no answer followed', () => {
    reports(
      main.created(),
      main.prompt('Break'),
      main.answers(),
      main.failed('APIError', 'no credit'),
      main.idle(),
    )
    reports(main.prompt('Again'), main.failed('APIError', 'no model'), main.idle())
    expect(dataOf('error')).toEqual([
      { what: 'APIError', message: 'no credit' },
      { what: 'APIError', message: 'no model' },
    ])
    expect(dataOf('request.ended')).toMatchObject([
      { status: 'failed', reason: 'APIError', error: 'no credit' },
      { status: 'failed', reason: 'APIError', error: 'no model' },
    ])
  })

  test('usage is recorded when its figures change, with the last figures of a message', () => {
    const more = { ...TOKENS, output: 20, total: 125 }
    reports(main.created(), main.prompt('Count'), main.answers(), main.answer({ tokens: TOKENS }))
    reports(main.answered({ tokens: more }), main.answered({ tokens: more }), main.idle())
    const figures = { model: 'local/small', input_tokens: 100, cache_read_tokens: 7, cache_write_tokens: 0 }
    expect(dataOf('usage')).toMatchObject([
      { ...figures, output_tokens: 20, context_tokens: 120, cost_usd: 0 },
      { ...figures, output_tokens: 25, context_tokens: 125, cost_usd: 0.25 },
    ])
    expect(new Set(dataOf('usage').map((data) => 'usage_id' in data && data.usage_id)).size).toBe(1)
  })

  test('a model that rejects requests for a while is a wait until the next attempt', () => {
    reports(main.created(), main.prompt('Go'), main.answers())
    reports(main.status('retry', { attempt: 1, message: 'Too many requests', next: 1_772_366_402_000 }))
    reports(main.status('busy'), main.answered(), main.idle())
    expect(dataOf('waiting.started')).toMatchObject([
      { for: 'rate_limit', what: 'Too many requests', until: '2026-03-01T12:00:02.000Z' },
    ])
    expect(of('waiting.ended')).toHaveLength(1)
  })
})

describe('compactions', () => {
  test('a compaction by a person belongs to no request and has the size before it', () => {
    reports(main.created(), main.prompt('Go'), main.answers(), main.answered(), main.idle())
    reports(main.prompt(null), main.part('compaction', { messageID: compactedMessage(), auto: false }))
    reports(
      main.answers({ summary: true }),
      main.answered({ summary: true }),
      main.event('session.compacted'),
    )
    reports(main.idle())
    expect(kinds().slice(4)).toEqual(['compaction.started', 'usage', 'compaction.ended'])
    expect([...dataOf('compaction.started'), ...dataOf('compaction.ended')]).toEqual([
      { trigger: 'manual' },
      { tokens_before: 120 },
    ])
  })

  test('an automatic compaction and the prompt that follows it belong to the running request', () => {
    reports(main.created(), main.prompt('Go'), main.answers(), main.answered(), main.prompt(null))
    reports(
      main.part('compaction', { messageID: compactedMessage(), auto: true }),
      main.answers({ summary: true }),
    )
    reports(main.answered({ summary: true }), main.event('session.compacted'))
    reports(main.prompt('Continue.', { synthetic: true }), main.answers(), main.answered(), main.idle())
    expect(
      kinds()
        .filter((kind) => kind !== 'usage')
        .slice(1),
    ).toEqual([...['request.started', 'compaction.started', 'compaction.ended', 'request.ended']])
  })

  test('a compaction that failed has no size', () => {
    reports(
      main.created(),
      main.prompt(null),
      main.part('compaction', { messageID: compactedMessage(), auto: true }),
    )
    reports(main.answers({ summary: true }), main.failed('APIError', 'no'), main.idle())
    expect(dataOf('compaction.ended')).toEqual([{}])
  })

  /** Id of the message that was reported last. */
  function compactedMessage(): string {
    const { parentID } = main.answer({}).properties['info'] as { parentID: string }
    return parentID
  }
})

describe('calls', () => {
  test('a call fails by its state, by the exit code of its command, and if its tool does not exist', () => {
    const read = main.call('read', { filePath: 'x' })
    const bash = main.call('bash', { command: 'exit 3' })
    const other = main.call('nonsense', {})
    reports(
      main.created(),
      main.prompt('Go'),
      main.answers(),
      read.running(),
      read.failed('File not found: x'),
    )
    reports(bash.running(), bash.completed('(no output)', { exit: 3 }))
    reports(other.pending(), other.completed('no such tool', {}, 'invalid'))
    expect(dataOf('action.failed')).toEqual([
      { action_id: read.id, tool: 'read', error: 'File not found: x', duration_ms: 5 },
      { action_id: bash.id, tool: 'bash', error: '(no output)', exit_code: 3, duration_ms: 5 },
      { action_id: other.id, tool: 'nonsense', error: 'no such tool', duration_ms: 5 },
    ])
    expect(of('action.started')).toHaveLength(3)
  })

  test('a call is recorded once, also if its output is removed later', () => {
    const call = main.call('bash', {})
    reports(main.created(), main.prompt('Go'), main.answers(), call.running(), call.completed('x'))
    reports(call.completed('x'), call.compacted())
    expect([of('action.started').length, of('action.ended').length]).toEqual([1, 1])
  })

  test('two calls with the same id of the model are two actions', () => {
    const [one, two] = [main.call('bash', {}, 'call_0'), main.call('bash', {}, 'call_0')]
    reports(main.created(), main.prompt('Go'), main.answers(), one.running(), one.completed('x'))
    reports(main.answers(), two.running(), two.completed('y'))
    const ids = dataOf('action.ended').map((data) => 'action_id' in data && data.action_id)
    expect(ids[0]).toBe('call_0')
    expect(ids[1]).toMatch(/^call_0-prt_/)
  })

  test('a permission that a person granted is a wait of the call', () => {
    const call = main.call('bash', { command: 'touch x' })
    reports(main.created(), main.prompt('Go'), main.answers(), call.pending(), main.asked('per_1', call.id))
    reports(call.running(), main.replied('per_1', 'once'), call.completed('ok', { exit: 0 }), main.idle())
    expect(kinds().slice(2)).toEqual([
      ...['waiting.started', 'action.started', 'waiting.ended', 'action.ended', 'request.ended'],
    ])
    expect(dataOf('waiting.started')).toEqual([{ waiting_id: 'per_1', for: 'permission', what: 'bash' }])
    expect(dataOf('waiting.ended')).toEqual([{ waiting_id: 'per_1' }])
  })

  test('a rejected permission is a denied call and interrupts the turn, unless the model answers', () => {
    for (const [id, continues] of [
      ['per_1', false],
      ['per_2', true],
    ] as const) {
      const call = main.call('bash', { command: 'touch x' })
      reports(main.created(), main.prompt('Go'), main.answers(), call.pending(), main.asked(id, call.id))
      reports(call.running(), main.replied(id, 'reject'), call.failed('No.'), main.answered())
      if (continues) reports(main.answers(), main.answered())
      reports(main.idle())
    }
    expect(dataOf('action.failed')).toMatchObject([{ denied: true }, { denied: true }])
    expect(dataOf('request.ended')).toMatchObject([{ status: 'interrupted' }, { status: 'completed' }])
  })

  test('a call that a rule forbids is denied without a wait', () => {
    const call = main.call('bash', { command: 'rm x' })
    reports(main.created(), main.prompt('Go'), main.answers(), call.running())
    reports(
      call.failed('The user has specified a rule which prevents you from using this specific tool call.'),
    )
    expect(dataOf('action.failed')).toMatchObject([{ denied: true }])
    expect(of('waiting.started')).toEqual([])
  })

  test('a question is a wait for an answer, and that of a plan for its approval', () => {
    const [question, plan] = [main.call('question', {}), main.call('plan_exit', {})]
    reports(main.created(), main.prompt('Go'), main.answers(), question.pending(), plan.pending())
    reports(
      main.questioned('que_1', question.id, 'Which?'),
      main.event('question.replied', { requestID: 'que_1' }),
    )
    reports(
      main.questioned('que_2', plan.id, 'Begin?'),
      main.event('question.rejected', { requestID: 'que_2' }),
    )
    reports(plan.failed('dismissed'))
    expect(dataOf('waiting.started')).toEqual([
      { waiting_id: 'que_1', for: 'question', what: 'Which?' },
      { waiting_id: 'que_2', for: 'plan', what: 'Begin?' },
    ])
    expect(of('waiting.ended')).toHaveLength(2)
    expect(dataOf('action.failed')).toMatchObject([{ denied: true }])
  })
})

describe('subagents', () => {
  const child = opencodeEvents('ses_2')
  const about = { parentID: 'ses_1', title: 'a look (@digger subagent)', agent: 'digger' }

  test("a session with a parent is a subtask of its parent's request, and so are its calls", () => {
    const task = main.call('task', { description: 'a look' })
    const call = child.call('bash', {})
    reports(main.created(), main.prompt('Delegate'), main.answers(), task.pending(), child.created(about))
    reports(task.running({ sessionId: 'ses_2' }), child.prompt('look'), child.answers(), call.running())
    reports(call.completed('x', { exit: 0 }), child.text('Found it'), child.answered(), child.idle())
    reports(task.completed('Found it'), main.answered(), main.idle())
    expect(events.map(({ kind, agent_id }) => [kind, agent_id])).toEqual([
      ['session.started', undefined],
      ['request.started', undefined],
      ['action.started', undefined],
      ['subtask.started', undefined],
      ['action.started', 'ses_2'],
      ['action.ended', 'ses_2'],
      ['usage', 'ses_2'],
      ['subtask.ended', undefined],
      ['action.ended', undefined],
      ['usage', undefined],
      ['request.ended', undefined],
    ])
    expect(new Set(events.map(({ session_id }) => session_id))).toEqual(new Set(['ses_1']))
    expect(dataOf('subtask.started')).toEqual([
      { subtask_id: 'ses_2', agent_type: 'digger', description: 'a look' },
    ])
    expect(dataOf('subtask.ended')).toEqual([
      { subtask_id: 'ses_2', status: 'completed', result: 'Found it' },
    ])
    expect(dataOf('usage')[0]).not.toHaveProperty('context_tokens')
  })

  test('a subagent of a subagent has it as its parent, and an aborted one is interrupted', () => {
    const grandchild = opencodeEvents('ses_3')
    reports(
      main.created(),
      main.prompt('Delegate'),
      main.answers(),
      child.created(about),
      child.prompt('look'),
    )
    reports(child.answers(), grandchild.created({ ...about, parentID: 'ses_2' }), grandchild.prompt('dig'))
    reports(grandchild.answers(), grandchild.failed('MessageAbortedError', 'Aborted'), grandchild.idle())
    expect(of('subtask.started')[1]).toMatchObject({ agent_id: 'ses_2', data: { parent_id: 'ses_2' } })
    expect(of('subtask.ended')).toMatchObject([
      { agent_id: 'ses_2', session_id: 'ses_1', data: { subtask_id: 'ses_3', status: 'interrupted' } },
    ])
  })

  test('a late call of a subagent belongs to the request that started it', () => {
    const call = child.call('bash', {})
    reports(main.created(), main.prompt('One'), main.answers(), child.created(about), child.prompt('look'))
    reports(child.answers(), main.idle(), main.prompt('Two'), main.answers(), call.running())
    expect(of('action.started')).toMatchObject([{ turn_seq: 1, agent_id: 'ses_2' }])
  })
})

describe('sessions', () => {
  test('events of a session that the process does not know are ignored, as are those without a session', async () => {
    const foreign = opencodeEvents('ses_9')
    reports(foreign.prompt('Not ours'), foreign.answers(), foreign.idle())
    activity.handle({ type: 'session.error', properties: { error: { name: 'X' } } }, '/project')
    activity.handle({ type: 'message.part.delta', properties: { sessionID: 'ses_9' } }, '/project')
    activity.handle(null, '/project')
    await atRest()
    expect(events).toEqual([])
  })

  test('a session that was resumed is read, and no event of it is lost meanwhile', async () => {
    stored = [
      { id: 'ses_1', directory: '/other' },
      { id: 'ses_2', directory: '/other', parentID: 'ses_1' },
    ] as SessionInfo[]
    const child = opencodeEvents('ses_2')
    reports(main.prompt('Go on'), main.answers())
    reports(child.prompt('look'), child.answers())
    await atRest()
    reports(child.idle(), main.idle())
    expect(kinds().toSorted()).toEqual([
      ...['request.ended', 'request.started', 'session.started', 'subtask.ended', 'subtask.started'],
    ])
    expect(dataOf('session.started')).toMatchObject([{ project: '/other' }])
  })

  test('a renamed session is not recorded before its first prompt', () => {
    reports(main.updated({ title: 'Renamed' }))
    expect(events).toEqual([])
    reports(main.prompt('Go'), main.answers())
    expect(kinds()).toEqual(['session.started', 'request.started'])
  })

  test('the session in which turnbell rings is recorded before its first event', () => {
    activity.bound({ id: 'ses_1', directory: '/project' })
    reports(main.updated(), main.prompt('Go'), main.answers())
    expect(kinds()).toEqual(['session.started', 'request.started'])
  })

  test('a turn whose begin an earlier process recorded goes on, and another one begins', () => {
    known = ['ses_1']
    const call = main.call('bash', {})
    main.prompt('seen by another process')
    reports(main.updated(), main.answers(), call.running(), main.answered(), main.idle())
    expect(kinds()).toEqual(['session.started', 'action.started', 'usage', 'request.ended'])
    main.prompt('missed')
    reports(main.answers(), main.idle())
    expect(kinds().slice(4)).toEqual(['request.started', 'request.ended'])
  })

  test('a session ends when it is deleted, and all end with their process', async () => {
    const other = opencodeEvents('ses_5')
    reports(main.created(), other.created(), main.event('session.deleted'))
    expect(of('session.ended')).toMatchObject([{ session_id: 'ses_1', data: { reason: 'deleted' } }])
    activity.bound({ id: 'ses_5', directory: '/project' })
    await activity.attached({ pid: 8, pid_started: 'boot:2' }, reader)
    expect(events.slice(3)).toMatchObject([
      { kind: 'session.ended', session_id: 'ses_5', data: { reason: 'process_ended' } },
      { kind: 'session.started', session_id: 'ses_5', data: { pid: 8 } },
    ])
    activity.end('closed')
    expect(events.at(-1)).toMatchObject({ kind: 'session.ended', session_id: 'ses_5' })
  })

  test('a turn that ended while the connection was lost ends with what its last message shows', async () => {
    reports(main.created(), main.prompt('Go'), main.answers())
    busy = true
    await activity.attached(PROCESS, reader)
    expect(of('request.ended')).toEqual([])
    busy = false
    await activity.attached(PROCESS, reader)
    expect(dataOf('request.ended')).toMatchObject([{ status: 'interrupted' }])
  })
})
