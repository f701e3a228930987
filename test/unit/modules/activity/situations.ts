/** Situations that other tools show falsely: the events, in the order of their arrival, and the state at given times. */
import type {
  ActivityData,
  ActivityEvent,
  ActivityKind,
  ActivitySource,
  WaitingFor,
} from '../../../../src/contracts/activity/event.ts'
import type { SessionStateName } from '../../../../src/contracts/activity/session-state.ts'

export interface Step {
  /** Time of the event in seconds. */
  at: number
  kind: ActivityKind | 'process ended'
  data: object
  /** Default: one more than the step before. */
  seq?: number
  /** Default: of the newest request. */
  turn?: number
  agent?: string
  /** Time of arrival in seconds. Default: `at`. */
  arrives?: number
}
export interface Expected {
  /** In seconds. */
  at: number
  state: SessionStateName
  what: string | null
  waiting_for: WaitingFor | null
  /** Source and kind, such as `hook request.ended`. */
  evidence: string
  conflict: boolean
  since?: number
}
export interface Situation {
  name: string
  source: ActivitySource
  steps: readonly Step[]
  expected: readonly Expected[]
}

type Options = Pick<Step, 'seq' | 'turn' | 'agent' | 'arrives'>
const on = <Kind extends ActivityKind>(
  at: number,
  kind: Kind,
  data: ActivityData<Kind>,
  options: Options = {},
): Step => ({ at, kind, data, ...options })

const start = (at: number, data: ActivityData<'session.started'> = { reason: 'startup', pid: 100 }) =>
  on(at, 'session.started', data)
const quit = (at: number, reason = 'prompt_input_exit', options: Options = {}) =>
  on(at, 'session.ended', { reason }, options)
const prompt = (at: number, options: Options = {}) => on(at, 'request.started', { prompt: 'Go.' }, options)
const stop = (at: number, options: Options = {}) => on(at, 'request.ended', { status: 'completed' }, options)
const escape = (at: number, options: Options = {}) =>
  on(at, 'request.ended', { status: 'interrupted' }, options)
const failure = (at: number, error: string) =>
  on(at, 'request.ended', { status: 'failed', error, reason: 'unknown' })
const tool = (at: number, action_id: string, name = 'Bash', options: Options = {}) =>
  on(at, 'action.started', { action_id, tool: name }, options)
const done = (at: number, action_id: string, options: Options = {}) =>
  on(at, 'action.ended', { action_id }, options)
const agent = (at: number, subtask_id: string, agent_type = 'explorer') =>
  on(at, 'subtask.started', { subtask_id, agent_type })
const agentDone = (at: number, subtask_id: string) =>
  on(at, 'subtask.ended', { subtask_id, status: 'completed' })
const wait = (
  at: number,
  waiting_id: string,
  reason: WaitingFor,
  what?: string,
  options: Options & { until?: string } = {},
) => {
  const { until, ...rest } = options
  const data = {
    waiting_id,
    for: reason,
    ...(what === undefined ? {} : { what }),
    ...(until === undefined ? {} : { until }),
  }
  return on(at, 'waiting.started', data, rest)
}
const answered = (at: number, waiting_id: string, options: Options = {}) =>
  on(at, 'waiting.ended', { waiting_id }, options)
const killed = (at: number): Step => ({ at, kind: 'process ended', data: {} })

const expect = (
  at: number,
  state: SessionStateName,
  what: string | null,
  evidence: string,
  more: Partial<Pick<Expected, 'waiting_for' | 'conflict' | 'since'>> = {},
): Expected => ({ at, state, what, evidence, waiting_for: null, conflict: false, ...more })
const working = (at: number, what: string | null, evidence: string, more = {}) =>
  expect(at, 'working', what, evidence, more)
const waiting = (at: number, waiting_for: WaitingFor, what: string | null, more = {}, source = 'hook') =>
  expect(at, 'waiting', what, `${source} waiting.started`, { waiting_for, ...more })
const idle = (at: number, evidence = 'hook request.ended', more = {}) =>
  expect(at, 'idle', null, evidence, more)
const unknown = (at: number, what: string | null, since: number, more = {}) =>
  expect(at, 'unknown', what, 'clock', { since, ...more })

export const EPOCH = Date.parse('2026-03-01T12:00:00.000Z')
export const timeOf = (seconds: number): string => new Date(EPOCH + 1_000 * seconds).toISOString()
const HOUR = 3_600
const DAY = 24 * HOUR

const claude = (name: string, steps: readonly Step[], expected: readonly Expected[]): Situation => ({
  name,
  source: 'hook',
  steps,
  expected,
})
const of = (
  source: ActivitySource,
  name: string,
  steps: readonly Step[],
  expected: readonly Expected[],
): Situation => ({ name, source, steps, expected })

const INTERRUPTED: readonly Situation[] = [
  claude(
    'Esc in a tool',
    [start(0), prompt(1), tool(2, 't1'), escape(5)],
    [working(3, 'Bash', 'hook action.started', { since: 2 }), idle(6, 'hook request.ended', { since: 5 })],
  ),
  claude(
    'Esc in a tool, and the failure of the tool is reported afterwards',
    [
      start(0),
      prompt(1),
      tool(2, 't1'),
      escape(5),
      on(6, 'action.failed', { action_id: 't1', error: 'Interrupted' }),
    ],
    [idle(7, 'hook request.ended', { since: 5 })],
  ),
  claude(
    'Esc while the model thinks',
    [start(0), prompt(1), escape(4)],
    [working(2, null, 'hook request.started', { since: 1 }), idle(5)],
  ),
  claude(
    'Esc at the empty prompt',
    [start(0), prompt(1), stop(3), escape(9)],
    [idle(10, 'hook request.ended', { since: 3 })],
  ),
  claude(
    'Esc at a question',
    [
      start(0),
      prompt(1),
      tool(2, 'q', 'AskUserQuestion'),
      wait(2, 'q', 'question', 'Which one?'),
      escape(60),
    ],
    [waiting(30, 'question', 'Which one?', { since: 2 }), idle(61)],
  ),
  claude(
    'Esc while a foreground subagent works',
    [
      start(0),
      prompt(1),
      tool(2, 't1', 'Agent'),
      agent(3, 'a1'),
      tool(4, 't2', 'Grep', { agent: 'a1' }),
      escape(6),
    ],
    [working(5, 'Agent', 'hook action.started', { since: 2 }), idle(7), idle(300)],
  ),
]

const LOGIN: readonly Situation[] = [
  claude(
    'the login expires and the turn fails',
    [start(0), prompt(1), failure(3, 'OAuth token has expired\nPlease run /login')],
    [
      expect(4, 'failed', 'OAuth token has expired', 'hook request.ended', { since: 3 }),
      expect(DAY, 'failed', 'OAuth token has expired', 'hook request.ended', { since: 3 }),
    ],
  ),
  claude(
    'the login expires and the client never ends the turn',
    [start(0), prompt(1)],
    [working(120, null, 'hook request.started'), unknown(122, null, 121), unknown(DAY, null, 121)],
  ),
  claude(
    'a prompt after a failure',
    [start(0), prompt(1), failure(3, 'API Error: 400'), prompt(60), stop(70)],
    [working(61, null, 'hook request.started', { since: 60 }), idle(71)],
  ),
  of(
    'mod',
    'an API error and a successful retry',
    [
      start(0),
      prompt(1),
      on(2, 'error', { what: 'api_error', message: '529' }),
      tool(9, 't1'),
      done(10, 't1'),
      stop(12),
    ],
    [
      working(3, null, 'mod error', { since: 1 }),
      working(9, 'Bash', 'mod action.started'),
      idle(13, 'mod request.ended'),
    ],
  ),
  claude(
    'the limit is reached, before and after its reset',
    [start(0), prompt(1), wait(2, 'limit', 'rate_limit', '5 hours', { until: timeOf(HOUR) })],
    [
      waiting(HOUR - 1, 'rate_limit', '5 hours', { since: 2 }),
      working(HOUR + 1, null, 'clock', { since: HOUR }),
      unknown(HOUR + 121, null, HOUR + 120),
    ],
  ),
  claude(
    'the limit is reached, the turn fails, and the client shows the time of the reset',
    [
      ...[start(0), prompt(1), failure(2, 'Usage limit reached')],
      wait(3, 'limit', 'rate_limit', '5 hours', { until: timeOf(HOUR) }),
    ],
    [
      waiting(4, 'rate_limit', '5 hours'),
      expect(HOUR + 1, 'failed', 'Usage limit reached', 'hook request.ended', { since: HOUR }),
    ],
  ),
]

const WAITS: readonly Situation[] = [
  claude(
    'a question is open for hours',
    [start(0), prompt(1), tool(2, 'q', 'AskUserQuestion'), wait(2, 'q', 'question', 'Which one?')],
    [waiting(3, 'question', 'Which one?'), waiting(9 * HOUR, 'question', 'Which one?', { since: 2 })],
  ),
  claude(
    'a permission is open',
    [start(0), prompt(1), tool(2, 't1'), wait(3, 'p1', 'permission', 'Bash')],
    [waiting(4, 'permission', 'Bash'), waiting(600, 'permission', 'Bash')],
  ),
  claude(
    'the approval of a plan is open',
    [start(0), prompt(1), tool(2, 't1', 'ExitPlanMode'), wait(3, 't1', 'plan')],
    [waiting(600, 'plan', 'ExitPlanMode')],
  ),
  claude(
    'a permission is granted and the tool runs',
    [
      start(0),
      prompt(1),
      tool(2, 't1'),
      wait(3, 'p1', 'permission', 'Bash'),
      answered(50, 'p1'),
      done(60, 't1'),
    ],
    [
      waiting(49, 'permission', 'Bash'),
      working(51, 'Bash', 'hook waiting.ended', { since: 50 }),
      working(61, null, 'hook action.ended', { since: 60 }),
    ],
  ),
  of(
    'app_server',
    'Codex asks for an approval, which is refused',
    [
      ...[start(0), prompt(1), tool(2, 'call_1', 'exec_command'), wait(2, 'call_1', 'permission')],
      on(8, 'action.failed', { action_id: 'call_1', denied: true }),
      stop(9),
    ],
    [
      waiting(3, 'permission', 'exec_command', {}, 'app_server'),
      working(8, null, 'app_server action.failed'),
      idle(10, 'app_server request.ended'),
    ],
  ),
  claude(
    'two permissions are open: the newest is shown, then the other one',
    [
      ...[start(0), prompt(1), tool(2, 't1', 'Bash'), tool(2, 't2', 'Write')],
      ...[wait(3, 't1', 'permission'), wait(4, 't2', 'permission'), answered(9, 't2')],
    ],
    [waiting(5, 'permission', 'Write', { since: 4 }), waiting(10, 'permission', 'Bash', { since: 3 })],
  ),
  claude(
    'a late notification after the end of the turn',
    [start(0), prompt(1), tool(2, 't1'), done(4, 't1'), stop(5), wait(6, 'n1', 'permission', 'Bash')],
    [idle(7, 'hook request.ended', { since: 5, conflict: true })],
  ),
  claude(
    'a notification of an earlier turn',
    [start(0), prompt(1), stop(5), prompt(6), wait(7, 'n1', 'permission', 'Bash', { turn: 1 })],
    [working(8, null, 'hook request.started', { since: 6 })],
  ),
  claude(
    'a subagent waits for a permission',
    [
      ...[start(0), prompt(1), agent(2, 'a1'), stop(3)],
      ...[tool(4, 't1', 'Bash', { agent: 'a1' }), wait(5, 't1', 'permission', 'Bash', { agent: 'a1' })],
    ],
    [working(3, 'explorer', 'hook request.ended'), waiting(600, 'permission', 'Bash', { since: 5 })],
  ),
]

const PROCESSES: readonly Situation[] = [
  claude(
    'kill -9 in a turn',
    [start(0), prompt(1), tool(2, 't1'), killed(9)],
    [expect(10, 'ended', null, 'process', { since: 9, conflict: true })],
  ),
  claude(
    'kill -9 while it waits for a person',
    [start(0), prompt(1), tool(2, 't1'), wait(3, 't1', 'permission'), killed(9)],
    [expect(10, 'ended', null, 'process', { since: 9, conflict: true })],
  ),
  claude(
    'kill -9 while idle',
    [start(0), prompt(1), stop(2), killed(9)],
    [expect(10, 'ended', null, 'process')],
  ),
  claude(
    'events of a killed process arrive after its end',
    [
      start(0),
      prompt(1),
      killed(9),
      tool(5, 't1', 'Bash', { arrives: 20 }),
      prompt(6, { turn: 2, arrives: 20 }),
    ],
    [expect(21, 'ended', null, 'process', { since: 9, conflict: true })],
  ),
  claude(
    'the hub starts after a killed session was resumed: the resumption arrives after the end of the old process',
    [start(0), prompt(1), killed(100), start(50, { reason: 'resume', pid: 200 }), prompt(60)].map((step) =>
      step.at > 1 ? { ...step, arrives: Math.max(100, step.at) } : step,
    ),
    [working(101, null, 'hook request.started')],
  ),
  claude(
    'it is quit while the hub is down: the end comes late, through the spool',
    [start(0), prompt(1), stop(3), quit(4, 'prompt_input_exit', { arrives: 3 * HOUR })],
    [
      idle(3 * HOUR - 1),
      expect(3 * HOUR + 1, 'ended', 'prompt_input_exit', 'hook session.ended', { since: 4 }),
    ],
  ),
  claude(
    'the whole last turn arrives through the spool, newest event first',
    [
      ...[start(0), prompt(1), stop(3)],
      quit(20, 'other', { seq: 7, turn: 2, arrives: 30 }),
      tool(11, 't1', 'Bash', { seq: 5, turn: 2, arrives: 31 }),
      prompt(10, { seq: 4, turn: 2, arrives: 32 }),
      done(12, 't1', { seq: 6, turn: 2, arrives: 33 }),
    ],
    [30, 31, 32, 34].map((at) => expect(at, 'ended', 'other', 'hook session.ended', { since: 20 })),
  ),
  claude(
    'a session is resumed twice',
    [
      ...[start(0), prompt(1), stop(2), quit(3)],
      ...[start(10, { reason: 'resume', pid: 200 }), quit(12)],
      ...[start(20, { reason: 'resume', pid: 300 }), prompt(21), stop(22)],
    ],
    [
      expect(4, 'ended', 'prompt_input_exit', 'hook session.ended', { since: 3 }),
      idle(11, 'hook session.started', { since: 10 }),
      expect(13, 'ended', 'prompt_input_exit', 'hook session.ended', { since: 12 }),
      working(21, null, 'hook request.started'),
      idle(23),
    ],
  ),
  claude(
    'a session is resumed by a second process while the first one runs',
    [start(0), prompt(1), stop(2), start(10, { reason: 'resume', pid: 200 })],
    [idle(11, 'hook request.ended', { conflict: true })],
  ),
  claude(
    'a killed session is resumed before its end was noticed',
    [start(0), prompt(1), tool(2, 't1'), start(50, { reason: 'resume', pid: 200 })],
    [idle(51, 'hook session.started', { since: 50, conflict: true })],
  ),
  claude(
    'a session is cleared',
    [start(0), prompt(1), stop(2), quit(3, 'clear'), start(3, { reason: 'clear', pid: 100 })],
    [idle(4, 'hook session.started', { since: 3 })],
  ),
  claude(
    'the context is cleared without an end of the session',
    [start(0), prompt(1), stop(2), start(3, { reason: 'clear', pid: 100 })],
    [idle(4, 'hook request.ended', { since: 2 })],
  ),
  claude(
    'a prompt after the end of the session',
    [start(0), quit(3), prompt(9)],
    [working(10, null, 'hook request.started', { conflict: true })],
  ),
]

const SILENCE: readonly Situation[] = [
  claude(
    'the laptop sleeps for hours in the middle of a tool',
    [start(0), prompt(1), tool(2, 't1'), done(7 * HOUR, 't1'), stop(7 * HOUR + 5)],
    [unknown(7 * HOUR - 1, 'Bash', 122), working(7 * HOUR + 1, null, 'hook action.ended'), idle(8 * HOUR)],
  ),
  claude(
    'a policy disables the hooks in the middle of a turn',
    [start(0), prompt(1), tool(2, 't1'), done(3, 't1')],
    [
      working(100, null, 'hook action.ended', { since: 3 }),
      unknown(HOUR, null, 123),
      unknown(3 * DAY, null, 123),
    ],
  ),
  claude(
    'a tool of ten minutes reports nothing',
    [start(0), prompt(1), tool(2, 't1'), done(602, 't1'), stop(603)],
    [
      working(121, 'Bash', 'hook action.started', { since: 2 }),
      unknown(123, 'Bash', 122),
      working(602, null, 'hook action.ended', { since: 602 }),
      idle(604),
    ],
  ),
  claude(
    'idle for three days',
    [start(0), prompt(1), stop(2)],
    [idle(3 * DAY, 'hook request.ended', { since: 2 })],
  ),
  claude('started and never used', [start(0)], [idle(DAY, 'hook session.started', { since: 0 })]),
]

const COMPACTIONS: readonly Situation[] = [
  claude(
    'a manual compaction',
    [
      ...[start(0), prompt(1), stop(2), on(10, 'compaction.started', { trigger: 'manual' })],
      on(40, 'compaction.ended', { tokens_before: 9_000, tokens_after: 900 }),
      start(40, { reason: 'compact', pid: 100 }),
    ],
    [
      expect(11, 'compacting', 'manual', 'hook compaction.started', { since: 10 }),
      idle(41, 'hook compaction.ended', { since: 40 }),
    ],
  ),
  claude(
    'an automatic compaction in the middle of a turn',
    [
      ...[
        start(0),
        prompt(1),
        tool(2, 't1'),
        done(3, 't1'),
        on(4, 'compaction.started', { trigger: 'auto' }),
      ],
      ...[on(30, 'compaction.ended', { tokens_after: 900 }), start(30, { reason: 'compact', pid: 100 })],
      ...[tool(31, 't2', 'Read'), done(32, 't2'), stop(33)],
    ],
    [
      expect(5, 'compacting', 'auto', 'hook compaction.started'),
      working(30, null, 'hook session.started', { since: 30 }),
      working(31, 'Read', 'hook action.started'),
      idle(34),
    ],
  ),
  claude(
    'a compaction is interrupted',
    [start(0), prompt(1), on(2, 'compaction.started', { trigger: 'auto' }), escape(5)],
    [expect(3, 'compacting', 'auto', 'hook compaction.started'), idle(6)],
  ),
  claude(
    'a compaction at idle is skipped',
    [
      start(0),
      prompt(1),
      stop(2),
      on(3, 'compaction.started', { trigger: 'manual' }),
      on(4, 'compaction.ended', {}),
    ],
    [idle(5, 'hook compaction.ended', { since: 4 })],
  ),
  claude(
    'the end of a compaction is lost',
    [
      start(0),
      prompt(1),
      stop(2),
      on(3, 'compaction.started', { trigger: 'manual' }),
      prompt(400),
      stop(405),
    ],
    [unknown(200, 'manual', 123), working(401, null, 'hook request.started'), idle(406)],
  ),
]

const SUBAGENTS: readonly Situation[] = [
  claude(
    'a background subagent runs after the end of the turn, and is done later',
    [
      ...[
        start(0),
        prompt(1),
        tool(2, 't1', 'Agent'),
        agent(2, 'a1', 'general-purpose'),
        done(3, 't1'),
        stop(4),
      ],
      ...[tool(5, 't2', 'Bash', { agent: 'a1' }), done(6, 't2', { agent: 'a1' }), agentDone(90, 'a1')],
    ],
    [
      working(4, 'general-purpose', 'hook request.ended', { since: 4 }),
      working(7, 'general-purpose', 'hook action.ended'),
      idle(91, 'hook subtask.ended', { since: 90 }),
    ],
  ),
  claude(
    'of two background subagents one is done',
    [start(0), prompt(1), agent(2, 'a1', 'explorer'), agent(2, 'a2', 'planner'), stop(4), agentDone(9, 'a1')],
    [working(5, 'explorer, planner', 'hook request.ended'), working(10, 'planner', 'hook subtask.ended')],
  ),
  claude(
    'a background subagent outlasts the next turn',
    [start(0), prompt(1), agent(2, 'a1'), stop(3), prompt(10), stop(20), agentDone(30, 'a1')],
    [
      working(11, null, 'hook request.started'),
      working(21, 'explorer', 'hook request.ended'),
      idle(31, 'hook subtask.ended'),
    ],
  ),
  claude(
    'a background subagent is silent',
    [start(0), prompt(1), agent(2, 'a1'), stop(3)],
    [working(122, 'explorer', 'hook request.ended'), unknown(124, 'explorer', 123)],
  ),
  of(
    'plugin',
    'opencode: a task with a subagent that ends within the turn',
    [
      ...[
        start(0, { reason: 'startup' }),
        prompt(1),
        tool(2, 'call_1', 'task'),
        agent(3, 'ses_2', 'general'),
      ],
      ...[tool(4, 'call_2', 'read', { agent: 'ses_2' }), done(5, 'call_2', { agent: 'ses_2' })],
      ...[agentDone(6, 'ses_2'), done(7, 'call_1'), stop(8)],
    ],
    [
      working(5, 'task', 'plugin action.ended', { since: 2 }),
      working(7, null, 'plugin action.ended'),
      idle(9, 'plugin request.ended'),
    ],
  ),
]

const TURNS: readonly Situation[] = [
  claude(
    'two Stops in one turn',
    [start(0), prompt(1), stop(3), tool(4, 't1'), done(5, 't1'), stop(6)],
    [
      idle(3),
      working(4, 'Bash', 'hook action.started', { conflict: true }),
      working(5, null, 'hook action.ended', { conflict: true }),
      idle(7),
    ],
  ),
  claude(
    'the end of a tool is missing and the next turn begins',
    [start(0), prompt(1), tool(2, 't1'), stop(5), prompt(10)],
    [idle(6), working(11, null, 'hook request.started', { since: 10 })],
  ),
  claude(
    'the end of a turn is missing and the next turn begins',
    [start(0), prompt(1), tool(2, 't1'), prompt(10), stop(20), prompt(30)],
    [
      working(11, null, 'hook request.started', { since: 10, conflict: true }),
      idle(21),
      working(31, null, 'hook request.started'),
    ],
  ),
  claude(
    'a prompt is typed during a turn',
    [start(0), prompt(1), tool(2, 't1'), prompt(3, { turn: 1 }), done(4, 't1'), stop(9)],
    [
      working(3, 'Bash', 'hook request.started', { since: 2 }),
      working(5, null, 'hook action.ended', { since: 4 }),
      idle(10),
    ],
  ),
  claude(
    'the beginning of the turn is missing',
    [start(0), tool(2, 't1', 'Edit', { turn: 1 }), done(3, 't1', { turn: 1 }), stop(9, { turn: 1 })],
    [working(2, 'Edit', 'hook action.started'), working(4, null, 'hook action.ended'), idle(10)],
  ),
  claude(
    'the end of a turn arrives after later figures',
    [start(0), prompt(1), on(6, 'usage', { usage_id: 'm1' }, { seq: 4 }), stop(5, { seq: 3, arrives: 7 })],
    [working(6, null, 'hook usage'), idle(8)],
  ),
  of(
    'app_server',
    'Codex: a turn with a command',
    [
      start(0),
      prompt(1),
      tool(2, 'call_1', 'exec_command'),
      done(3, 'call_1'),
      on(4, 'usage', { usage_id: 'u1' }),
      stop(5),
    ],
    [
      working(2, 'exec_command', 'app_server action.started'),
      working(4, null, 'app_server usage', { since: 3 }),
      idle(6, 'app_server request.ended', { since: 5 }),
    ],
  ),
]

export const SITUATIONS: readonly Situation[] = [
  ...INTERRUPTED,
  ...LOGIN,
  ...WAITS,
  ...PROCESSES,
  ...SILENCE,
  ...COMPACTIONS,
  ...SUBAGENTS,
  ...TURNS,
]

/** The steps as events; null for the end of the process. */
export function eventsOf({ steps, source }: Pick<Situation, 'steps' | 'source'>): {
  arrives: number
  at: string
  event: ActivityEvent | null
}[] {
  let [seq, turn] = [0, 0]
  return steps.map((step) => {
    const at = timeOf(step.at)
    const arrives = step.arrives ?? step.at
    if (step.kind === 'process ended') return { arrives, at, event: null }
    seq = step.seq ?? seq + 1
    turn = step.turn ?? (step.kind === 'request.started' ? turn + 1 : turn)
    const event = {
      event_id: `0${String(seq).padStart(25, '0')}`,
      client: source === 'plugin' ? 'opencode' : source === 'app_server' ? 'codex' : 'claude-code',
      identity: 'ada',
      session_id: 'session-1',
      agent_id: step.agent ?? null,
      turn_seq: step.turn ?? turn,
      seq,
      at,
      source,
      kind: step.kind,
      data: step.data,
    } as ActivityEvent
    return { arrives, at, event }
  })
}
