/**
 * Activity events of a raw hook payload, as Claude Code 2.1.329 and Codex 0.145 send it to `POST /hook/<client>`. Both have
 * the same fields; Codex names the turn `turn_id`, Claude Code `prompt_id`.
 */
import type { Json } from '../../contracts/ids.ts'
import { defined } from '../lib/defined.ts'
import type { Fact } from './hub-numbered.ts'

type HookBody = Readonly<Record<string, unknown>>

/** What the events of the session before this one left open. */
export interface HookSession {
  /** The client's id of the running turn; null if none runs. */
  request_id: string | null
  /** Ids of open waits. */
  waiting: readonly string[]
}

/** Tools that ask a person. */
const ASKING: Readonly<Record<string, 'question' | 'plan'>> = {
  AskUserQuestion: 'question',
  ExitPlanMode: 'plan',
}
const WORD_MAX = 256

/** Returns an empty list for a hook that shows nothing. */
export function hookEvents(body: HookBody, session: HookSession): Fact[] {
  const name = text(body, 'hook_event_name') ?? ''
  const read = Object.hasOwn(HOOKS, name) ? HOOKS[name] : undefined
  const agent_id = text(body, 'agent_id') ?? null
  return read?.(body, session).map((event) => ({ agent_id, ...event })) ?? []
}

const HOOKS: Readonly<Record<string, (body: HookBody, session: HookSession) => Fact[]>> = {
  SessionStart: (body) => [
    {
      kind: 'session.started',
      data: defined({
        project: text(body, 'cwd', 4_096),
        reason: text(body, 'source'),
        model: text(body, 'model'),
      }),
    },
  ],
  SessionEnd: (body) => [{ kind: 'session.ended', data: defined({ reason: text(body, 'reason') }) }],

  UserPromptSubmit(body, session) {
    const request_id = turnOf(body)
    // Typed into a running turn.
    if (request_id !== undefined && request_id === session.request_id) return []
    const prompt = textOf(body['prompt'])
    return [{ kind: 'request.started', data: defined({ request_id, prompt }), begins_turn: true }]
  },
  Stop: (body) => [
    { kind: 'request.ended', data: { status: 'completed', ...defined({ request_id: turnOf(body) }) } },
  ],
  StopFailure: (body) => [
    {
      kind: 'request.ended',
      data: {
        status: 'failed',
        ...defined({
          request_id: turnOf(body),
          reason: text(body, 'error'),
          error: textOf(body['last_assistant_message']),
        }),
      },
    },
  ],

  PreToolUse(body) {
    const [action_id, tool] = [text(body, 'tool_use_id'), text(body, 'tool_name')]
    if (action_id === undefined || tool === undefined) return []
    const input = body['tool_input'] as Json | undefined
    const asks = ASKING[tool]
    return [
      { kind: 'action.started', data: { action_id, tool, ...defined({ input }) } },
      ...(asks === undefined
        ? []
        : [{ kind: 'waiting.started', data: { waiting_id: action_id, for: asks, what: tool } } as const]),
    ]
  },
  PostToolUse(body, session) {
    const action_id = text(body, 'tool_use_id')
    if (action_id === undefined) return []
    const more = defined({ tool: text(body, 'tool_name'), duration_ms: count(body['duration_ms']) })
    const output = textOf(body['tool_response'])
    return [
      ...answered(session, action_id),
      { kind: 'action.ended', data: { action_id, ...more, ...defined({ output }) } },
    ]
  },
  PostToolUseFailure(body, session) {
    const action_id = text(body, 'tool_use_id')
    if (action_id === undefined) return []
    const more = defined({ tool: text(body, 'tool_name'), duration_ms: count(body['duration_ms']) })
    const error = textOf(body['error'])
    return [
      ...answered(session, action_id),
      { kind: 'action.failed', data: { action_id, ...more, ...defined({ error }) } },
    ]
  },

  PermissionRequest: (body) => [
    {
      kind: 'waiting.started',
      data: { waiting_id: PERMISSION, for: 'permission', ...defined({ what: text(body, 'tool_name') }) },
    },
  ],
  Notification: (body) =>
    text(body, 'notification_type') === 'permission_prompt'
      ? [{ kind: 'waiting.started', data: { waiting_id: PERMISSION, for: 'permission' } }]
      : [],

  SubagentStart(body) {
    const subtask_id = text(body, 'agent_id')
    if (subtask_id === undefined) return []
    const data = { subtask_id, ...defined({ agent_type: text(body, 'agent_type') }) }
    return [{ kind: 'subtask.started', data, agent_id: null }]
  },
  SubagentStop(body) {
    const subtask_id = text(body, 'agent_id')
    if (subtask_id === undefined) return []
    const result = textOf(body['last_assistant_message'])
    return [
      {
        kind: 'subtask.ended',
        data: { subtask_id, status: 'completed', ...defined({ result }) },
        agent_id: null,
      },
    ]
  },

  PreCompact: (body) => [{ kind: 'compaction.started', data: defined({ trigger: text(body, 'trigger') }) }],
  PostCompact: () => [{ kind: 'compaction.ended', data: {} }],
}

/** A permission request has no id of its own. */
const PERMISSION = 'permission'

/** The tool ran, so a person has answered. */
function answered({ waiting }: HookSession, action_id: string): Fact[] {
  return [PERMISSION, action_id]
    .filter((waiting_id) => waiting.includes(waiting_id))
    .map((waiting_id) => ({ kind: 'waiting.ended', data: { waiting_id } }))
}

function turnOf(body: HookBody): string | undefined {
  return text(body, 'turn_id') ?? text(body, 'prompt_id')
}

/** Returns undefined for an empty text, with which Claude Code fills absent values. */
function text(body: HookBody, name: string, length_max = WORD_MAX): string | undefined {
  const value = body[name]
  return typeof value === 'string' && value !== '' ? value.slice(0, length_max) : undefined
}

function count(value: unknown): number | undefined {
  return typeof value === 'number' && value >= 0 ? Math.round(value) : undefined
}

/** Returns a text as it is, and any other value as JSON. */
function textOf(value: unknown): string | undefined {
  if (value === undefined || value === null || value === '') return undefined
  return typeof value === 'string' ? value : JSON.stringify(value)
}
