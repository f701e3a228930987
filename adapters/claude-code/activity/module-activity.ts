/** Records what the module in the client reports. */
import {
  word,
  type EndedRequest,
  type Happened,
  type OpenRequest,
  type RecordedSession,
} from './recorded-session.ts'
import { ASKING } from '../presence.ts'
import { given } from '../mod/fields.ts'
import type { Hello, ModEvent, NumberedEvent } from '../mod/messages.ts'
import type { ActivityData, CapturedText, EndStatus } from '../../../src/contracts/activity/event.ts'
import type { Json } from '../../../src/contracts/ids.ts'
import { LIMITS } from '../../../src/contracts/limits/limits.ts'
import { parseJsonOrNull } from '../../../src/contracts/validation/json.ts'

type Of<Kind extends ModEvent['kind']> = Extract<ModEvent, { kind: Kind }>

/** Words for the origin of a prompt. Others are recorded as the client reports them. */
const PROMPT_TYPES: Readonly<Record<string, string>> = {
  composer: 'person',
  bridge: 'person',
  sdk: 'person',
  'task-notification': 'task',
}

/** The client's words for the end of a turn. All others are failures. */
const ENDS: Readonly<Record<string, EndStatus>> = { answer: 'completed', aborted: 'interrupted' }

const AGENT_ENDS: Readonly<Record<string, EndStatus>> = {
  completed: 'completed',
  failed: 'failed',
  error: 'failed',
  killed: 'interrupted',
  stopped: 'interrupted',
  aborted: 'interrupted',
}

export interface ModuleActivity {
  attached(hello: Hello): void
  happened(event: NumberedEvent, session_id: string): void
}

export function moduleActivity(session: RecordedSession): ModuleActivity {
  const tools = moduleTools(session)
  const turns = moduleTurns(session)

  return {
    attached: (hello) => turns.attached(hello),
    happened(event, session_id) {
      const happened: Happened = { source: 'mod', at: timeOf(event.at) }
      if (event.kind !== 'session') session.start(session_id, happened)
      switch (event.kind) {
        case 'session':
          return session.start(event.session_id, happened, { reason: word(event.reason) })
        case 'prompt':
          return turns.prompted(event)
        case 'turn_started':
          return turns.started(event, happened)
        case 'turn_ended':
          return turns.ended(event, happened)
        case 'tool_started':
          return tools.started(event, happened)
        case 'tool_ended':
          return tools.ended(event, happened)
        case 'waiting_started':
          return tools.asked(event, happened)
        case 'waiting_ended':
          return tools.answered(event, happened)
        case 'agent_started':
          return agentStarted(session, event, happened)
        case 'agent_ended':
          return agentEnded(session, event, happened)
        case 'measured':
          return measured(session, event, happened)
        case 'compacting':
        case 'compacted':
          return compacted(session, event, happened)
        case 'ended':
          return session.end(happened, word(event.reason))
        default:
      }
    },
  }
}

function moduleTools(session: RecordedSession) {
  const calls = remembered<{ tool: string; agent: string | undefined }>()
  const waits = remembered<string | undefined>()

  return {
    started({ call, tool, agent, content }: Of<'tool_started'>, happened: Happened): void {
      calls.set(call, { tool, agent })
      const data = { action_id: word(call), tool: word(tool), ...given({ input: inputOf(content) }) }
      session.record({ kind: 'action.started', data }, { ...happened, agent })
    },

    ended({ call, ms, failed, denied, content }: Of<'tool_ended'>, happened: Happened): void {
      const known = calls.take(call)
      const about = given({ tool: word(known?.tool), duration_ms: Math.max(0, Math.round(ms)) })
      const action = { action_id: word(call), ...about }
      const where = { ...happened, agent: known?.agent }
      if (failed === true || denied === true) {
        const more = given({ error: content, denied, exit_code: exitCodeOf(content) })
        session.record({ kind: 'action.failed', data: { ...action, ...more } }, where)
      } else {
        session.record({ kind: 'action.ended', data: { ...action, ...given({ output: content }) } }, where)
      }
    },

    asked({ call, tool, agent }: Of<'waiting_started'>, happened: Happened): void {
      waits.set(call, agent)
      const data = {
        waiting_id: word(call),
        for: ASKING.get(tool) ?? 'permission',
        what: word(tool),
      } as const
      session.record({ kind: 'waiting.started', data }, { ...happened, agent })
    },

    answered({ call }: Of<'waiting_ended'>, happened: Happened): void {
      const agent = waits.take(call)
      session.record({ kind: 'waiting.ended', data: { waiting_id: word(call) } }, { ...happened, agent })
    },
  }
}

/** The requests. An interrupted turn may end after the begin of the next one, so a turn is found by its id. */
function moduleTurns(session: RecordedSession) {
  const turns = remembered<OpenRequest>()
  /** Origin of the prompt that begins the next turn. */
  let origin: string | undefined

  return {
    attached(hello: Hello): void {
      const happened: Happened = { source: 'mod' }
      session.start(hello.session_id, happened, { cwd: hello.cwd || undefined })
      const open = session.open()
      // Events of the time before the greeting follow it, and may contain the end of the request.
      if (open === null || hello.past > 0) return
      if (hello.turn !== undefined) turns.set(hello.turn, open)
      else if (hello.busy === false) session.endRequest(open, happened, 'completed')
    },

    prompted(event: Of<'prompt'>): void {
      if (event.during === undefined) origin = event.origin
    },

    started({ turn, agent, bell, content }: Of<'turn_started'>, happened: Happened): void {
      if (agent !== undefined) return
      const by =
        bell === true ? 'doorbell' : origin === undefined ? undefined : (PROMPT_TYPES[origin] ?? origin)
      origin = undefined
      session.begin(
        { request_id: word(turn), ...given({ prompt: content, prompt_type: word(by) }) },
        happened,
      )
      const open = session.open()
      if (open !== null) turns.set(turn, open)
    },

    ended({ turn, agent, reason, usage }: Of<'turn_ended'>, happened: Happened): void {
      const where = { ...happened, agent }
      const request = agent === undefined ? (turns.take(turn) ?? endedRequest(session, turn)) : null
      if (usage !== undefined) {
        const data = { usage_id: word(turn), ...usageOf(usage) }
        session.record({ kind: 'usage', data }, where, request?.place)
      }
      if (request === null) return
      session.endRequest(request, where, ENDS[reason] ?? 'failed', word(reason))
    },
  }
}

/**
 * Returns the request of a turn whose begin the module did not report to this process: that of the hooks, or of a worker before
 * it. Null for one before the running request.
 */
function endedRequest(session: RecordedSession, turn: string): EndedRequest | null {
  const open = session.open()
  if (open === null) return { request_id: word(turn) }
  return open.source === 'hook' ? open : null
}

/** The main agent's compactions. */
function compacted(
  session: RecordedSession,
  event: Of<'compacting'> | Of<'compacted'>,
  happened: Happened,
): void {
  if (event.kind === 'compacted') {
    const data = given({ tokens_before: event.before, tokens_after: event.after })
    session.record({ kind: 'compaction.ended', data }, happened)
  } else if (event.agent === undefined) {
    session.record({ kind: 'compaction.started', data: { trigger: word(event.trigger) } }, happened)
  }
}

function agentStarted(
  session: RecordedSession,
  { agent, parent, type, task }: Of<'agent_started'>,
  happened: Happened,
): void {
  const about = given({ agent_type: word(type), description: task, parent_id: word(parent) })
  const data = { subtask_id: word(agent), ...about }
  const turn_seq = session.record({ kind: 'subtask.started', data }, { ...happened, agent: parent })
  session.agentStarted(agent, parent, turn_seq)
}

function agentEnded(
  session: RecordedSession,
  { agent, status, content }: Of<'agent_ended'>,
  happened: Happened,
): void {
  const more = given({ status: AGENT_ENDS[status ?? ''], result: content })
  const { parent, place } = session.agent(agent)
  const data = { subtask_id: word(agent), ...more }
  session.record({ kind: 'subtask.ended', data }, { ...happened, agent: parent }, place)
}

/** The client sums the cost of the session, so it belongs to an id of its own, of which the last figure counts. */
function measured(
  session: RecordedSession,
  { tokens, window, cost_usd }: Of<'measured'>,
  happened: Happened,
): void {
  const cost = cost_usd === undefined || cost_usd < 0 ? undefined : cost_usd
  const figures = given({ context_tokens: tokens, context_window: window, cost_usd: cost })
  if (Object.keys(figures).length === 0) return
  session.record({ kind: 'usage', data: { usage_id: 'session', ...figures } }, happened)
}

/** The client's names of the figures. */
function usageOf(usage: Record<string, unknown>): Omit<ActivityData<'usage'>, 'usage_id'> {
  const figure = (name: string) => {
    const value = usage[name]
    return typeof value === 'number' && Number.isInteger(value) && value >= 0 ? value : undefined
  }
  return given({
    model: typeof usage['model'] === 'string' ? word(usage['model']) : undefined,
    input_tokens: figure('input_tokens'),
    output_tokens: figure('output_tokens'),
    cache_read_tokens: figure('cache_read_input_tokens'),
    cache_write_tokens: figure('cache_creation_input_tokens'),
  })
}

/** The input comes as JSON text; its beginning alone is not JSON. */
function inputOf(content: CapturedText | undefined): ActivityData<'action.started'>['input'] {
  return typeof content === 'string' ? (parseJsonOrNull(content) as Json) : content
}

/** The client reports the exit code of a command only in the text of the error. */
function exitCodeOf(content: CapturedText | undefined): number | undefined {
  const text = typeof content === 'object' ? content.text : content
  const code = /^Exit code (\d{1,9})\b/.exec(text ?? '')?.[1]
  return code === undefined ? undefined : Number(code)
}

/** Years that ISO 8601 writes with four digits. */
const TIME_MAX = Date.parse('9999-12-31T23:59:59.999Z')

/** Returns undefined for a time that no clock shows. */
function timeOf(at: number): string | undefined {
  return at > TIME_MAX ? undefined : new Date(at).toISOString()
}

/** Remembers the newest entries. */
function remembered<Value>() {
  const entries = new Map<string, Value>()
  return {
    set(id: string, value: Value): void {
      entries.set(id, value)
      const oldest = entries.keys().next().value
      if (entries.size > LIMITS.activity_tracked_max && oldest !== undefined) entries.delete(oldest)
    },
    take(id: string): Value | undefined {
      const value = entries.get(id)
      entries.delete(id)
      return value
    },
  }
}
