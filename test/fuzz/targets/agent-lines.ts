/**
 * Fuzzes the output of agents' programs that the shims read: Codex's app-server, opencode's events, ACP, and headless
 * Claude Code.
 */
import { replyTo as claudeAnswer, StreamLine } from '../../../adapters/claude-code/headless/protocol.ts'
import { approvalFor as codexAnswer } from '../../../adapters/codex/approvals.ts'
import { Notification, ServerRequest } from '../../../adapters/codex/protocol.ts'
import {
  bound as codexBound,
  notified,
  startTracking as trackThread,
} from '../../../adapters/codex/thread-tracker.ts'
import { AgentError, AgentGoneError, openWire } from '../../../adapters/acp/wire.ts'
import { answerPermission as acpAnswer } from '../../../adapters/acp/permission.ts'
import { Initialized, PermissionRequest, SessionUpdate } from '../../../adapters/acp/protocol.ts'
import { updated, startTracking as trackTurn } from '../../../adapters/acp/turn-tracker.ts'
import { Envelope, Event, Messages, Session, Statuses } from '../../../adapters/opencode/protocol.ts'
import {
  bound as opencodeBound,
  startTracking as trackSession,
  eventReceived,
} from '../../../adapters/opencode/session-tracker.ts'
import { parseJsonOrNull } from '../../../src/contracts/validation/json.ts'
import { silentLog } from '../../../src/ports/log.ts'
import { fakeClock } from '../../support/fakes/fake-clock.ts'
import { linesOf, samplesOf } from '../seeds.ts'
import { insist, type Target } from '../target.ts'

const TURNS = ['idle', 'busy', 'unknown']
const PERMISSIONS = ['allow', 'reject'] as const

export const agentLines: Target = {
  name: 'agent-lines',
  promise:
    'whatever an agent’s program says, a turn stays in a known state and each request has one answer or none',
  share: 6,
  words: [
    'thread/started',
    'turn/completed',
    'session.idle',
    'session/update',
    'session/request_permission',
    'control_request',
    'can_use_tool',
  ],

  open() {
    const clock = fakeClock()
    return {
      seeds: [
        ...[
          Notification,
          ServerRequest,
          Event,
          Envelope,
          Session,
          Statuses,
          Messages,
          StreamLine,
          SessionUpdate,
        ].flatMap((schema) => linesOf(schema, 12)),
        ...samplesOf(PermissionRequest, 10).map((params, id) =>
          JSON.stringify({ jsonrpc: '2.0', id, method: 'session/request_permission', params }),
        ),
        ...samplesOf(Initialized, 5).map((result) => JSON.stringify({ jsonrpc: '2.0', id: 1, result })),
        '{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"no","data":{"x":1}}}',
        'Welcome!\n{"id":null}\n[]',
      ],
      async attempt(input) {
        const lines = input.toString().split('\n')
        const values = lines.map(parseJsonOrNull)
        return [codex(values), opencode(values), claude(values), await acp(lines, clock)].join(' ')
      },
    }
  },
}

function codex(values: readonly unknown[]): string {
  let thread = trackThread(0)
  let answers = 0
  for (const value of values) {
    const notification = Notification.safeParse(value)
    if (notification.success) {
      const { data } = notification
      if (data.method === 'thread/started') thread = codexBound(thread, data.params.thread)
      thread = notified(thread, data, 'ada')
    }
    const request = ServerRequest.safeParse(value)
    if (request.success)
      for (const how of PERMISSIONS) answers += codexAnswer(request.data, how) === null ? 0 : 1
  }
  insist(TURNS.includes(thread.turn), () => `codex: the turn is ${String(thread.turn)}`)
  return `${thread.turn} ${Math.min(answers, 2)}`
}

function opencode(values: readonly unknown[]): string {
  let session = trackSession(0)
  for (const value of values) {
    const envelope = Envelope.safeParse(value)
    const event = Event.safeParse(envelope.success ? envelope.data.payload : value)
    if (!event.success) continue
    if (event.data.type === 'session.created') session = opencodeBound(session, event.data.properties.info)
    session = eventReceived(session, event.data, 'ada')
  }
  insist(TURNS.includes(session.turn), () => `opencode: the turn is ${String(session.turn)}`)
  return session.turn
}

function claude(values: readonly unknown[]): string {
  const answers = values.flatMap((value) => {
    const line = StreamLine.safeParse(value)
    if (!line.success) return []
    const answer = claudeAnswer(line.data, 'reject')
    return answer === null ? [] : [JSON.stringify(answer)]
  })
  insist(
    answers.every((answer) => answer.includes('control_response')),
    () => 'an answer that is none',
  )
  return String(Math.min(answers.length, 2))
}

async function acp(lines: readonly string[], clock: ReturnType<typeof fakeClock>): Promise<string> {
  const written: string[] = []
  let taker: Parameters<Parameters<typeof openWire>[0]['read']>[0] | undefined
  let turn = trackTurn(0, 's')
  const agent = openWire(
    { write: (line) => void written.push(line), read: (given) => (taker = given) },
    { clock, log: silentLog },
    {
      onNotification(_, params) {
        const update = SessionUpdate.safeParse(params)
        if (update.success) turn = updated(turn, update.data.update.sessionUpdate)
      },
      onRequest(_, params) {
        const request = PermissionRequest.safeParse(params)
        if (!request.success) throw new AgentError(-32_602, 'no')
        return acpAnswer(request.data, null, 'reject').answer
      },
    },
  )
  const asked = agent.call('initialize', {}, Initialized, null).then(
    () => 'answered',
    (error: unknown) => {
      if (error instanceof AgentError || error instanceof AgentGoneError) return error.constructor.name
      throw error
    },
  )
  for (const line of lines) taker?.onLine(line)
  taker?.onEnd()
  for (const line of written)
    insist(parseJsonOrNull(line) !== null, () => `no JSON was written: ${line.slice(0, 100)}`)
  return `${await asked} ${turn.turn} ${Math.min(written.length, 3)}`
}
