/**
 * Tracks the turn of one opencode session from its server's events and answers. Pure: every function returns the next
 * state.
 *
 * The bound session is the one in which a person works: the newest, or the one that was written to last. A subagent's
 * session has a parent and is never bound.
 */
import type { Event, MessageInfo, Prompt, Session, StoredMessage } from './protocol.ts'
import { DoorbellId, type Identity } from '../../src/contracts/ids.ts'
import { LIMITS } from '../../src/contracts/limits/limits.ts'
import { beginTurn, initialTurn, type TurnState } from '../turn-tracker.ts'

export interface TrackedSession extends TurnState {
  /** Null while no session is bound. */
  session: { id: string; directory: string } | null

  /** The person's agent and model. A doorbell without them would change the person's choice, too. */
  choice: Pick<Prompt, 'agent' | 'model' | 'variant'>
  /** The chosen agent, if opencode no longer knows it and rejects prompts for it. */
  missing_agent: string | null
  /** Message ids are ascending. opencode may report older messages again. */
  newest_message_id: string
  /** The newest message to which an answer was started. */
  answered_message_id: string
  /** The newest answer; a turn may consist of several. */
  newest_answer_id: string
  /** Doorbells whose prompts are stored in the session and not yet answered. */
  stored: readonly StoredBell[]
  /** A doorbell that was sent to the server and whose message is not known yet. */
  sent: DoorbellId | null
  /** A person aborted the last turn, or ended it by rejecting a request, and has written nothing after that. */
  interrupted: boolean
  /** Another session with a new message; bound when it is known not to be a subagent's. */
  candidate: string | null
  /**
   * Why it is uncertain whether a turn runs; the server is queried after a while. `created`: a new session, whose first
   * message usually follows. `begins`: a message whose turn has not begun. `breaks`: a turn that was aborted or failed;
   * its end is reported twice, and a ring between the two may be lost.
   */
  doubt: Presumption | 'breaks' | null
}

export interface StoredBell {
  message_id: string
  doorbell_id: DoorbellId
}

type Presumption = 'created' | 'begins'

const UNBOUND = {
  session: null,
  turn: 'unknown',
  choice: {},
  missing_agent: null,
  newest_message_id: '',
  answered_message_id: '',
  newest_answer_id: '',
  stored: [],
  sent: null,
  interrupted: false,
  candidate: null,
  doubt: null,
} as const

export function startTracking(now_ms: number): TrackedSession {
  return { ...initialTurn(now_ms), ...UNBOUND }
}

export function isUserSession({ parentID }: Session): boolean {
  return parentID === undefined
}

export function bound(state: TrackedSession, session: Session): TrackedSession {
  const { id, directory } = session
  const place = { id, directory }
  if (state.session?.id === id)
    return { ...state, session: place, choice: { ...state.choice, ...choiceIn(session) } }
  return { ...state, ...UNBOUND, session: place, choice: choiceIn(session), turn: 'idle' }
}

export function unbound(state: TrackedSession): TrackedSession {
  return { ...state, ...UNBOUND, candidate: state.candidate }
}

/**
 * The connection is lost, and perhaps the server has exited. The session and its messages are on disk, and the next
 * connection reports the turn. If only the connection failed, the server still stores an accepted prompt.
 */
export function disconnected(state: TrackedSession): TrackedSession {
  return { ...state, turn: 'unknown', doubt: null }
}

/** Another server process answers: a prompt that the former one had accepted and not stored is lost. */
export function serverReplaced(state: TrackedSession): TrackedSession {
  return state.sent === null ? state : { ...state, sent: null }
}

/** Whether a turn is known to run, not only presumed. */
export function isRunning({ turn, doubt }: TrackedSession): boolean {
  return turn === 'busy' && doubt === null
}

/** Returns the newest doorbell that the server still holds and with which no turn has begun. */
export function outstanding({ stored, sent }: TrackedSession): DoorbellId | null {
  return sent ?? stored.at(-1)?.doorbell_id ?? null
}

/** A doorbell is being sent to the server. */
export function bellSent(state: TrackedSession, doorbell_id: DoorbellId): TrackedSession {
  return { ...state, sent: doorbell_id }
}

/** The server has rejected or deleted the doorbell, or has no trace of it. */
export function bellRemoved(state: TrackedSession, doorbell_id: DoorbellId): TrackedSession {
  return {
    ...state,
    sent: state.sent === doorbell_id ? null : state.sent,
    stored: state.stored.filter((bell) => bell.doorbell_id !== doorbell_id),
  }
}

/** Takes over the newest stored messages of the session, oldest first. */
export function messagesRead(
  state: TrackedSession,
  messages: readonly StoredMessage[],
  identity: Identity,
): TrackedSession {
  const answered = messages.reduce(
    (next, { info }) => (info.role === 'assistant' ? answerReported(next, info) : next),
    state,
  )
  const parts = messages.flatMap(({ info, parts }) => parts.map((part) => ({ ...part, messageID: info.id })))
  const next = parts.reduce((before, part) => partStored(before, part, identity), answered)
  if (next.seen_doorbell_id !== null) return next
  // A shim that was restarted reports the last doorbell that this session has seen.
  const seen = parts.flatMap(({ messageID, metadata }) =>
    messageID <= next.answered_message_id ? (parseBellName(metadata?.[BELL_KEY], identity) ?? []) : [],
  )
  return { ...next, seen_doorbell_id: seen.at(-1) ?? null }
}

/** A turn runs or is about to begin, without an event yet. */
export function turnPresumed(state: TrackedSession, doubt: Presumption = 'begins'): TrackedSession {
  return { ...beginTurn(state), doubt }
}

/** The server's answer to a turn query. `at_query` is the state at its start; later events take precedence. */
export function statusAnswered(
  state: TrackedSession,
  busy: boolean,
  at_query: TrackedSession,
): TrackedSession {
  if (state.session === null) return state
  if (at_query.session?.id === state.session.id) {
    if (hasTurnChanged(at_query, state)) return state
    // A message that arrived during the query may not have begun its turn when the server answered.
    const has_new_message = at_query.newest_message_id !== state.newest_message_id
    if (has_new_message && !busy) return { ...state, doubt: 'begins' }
  }
  if (busy) return { ...beginTurn(state), doubt: null }
  // The turn of a stored doorbell is still to begin, even on a slow server.
  if (state.stored.length > 0) return { ...beginTurn(state), doubt: 'begins' }
  return state.doubt === null ? turnEnded(state) : { ...state, turn: 'idle', doubt: null }
}

/** A session as read from the server: its data, its newest message, and whether a turn runs. */
export interface SessionReading {
  session: Session
  /** `unread` if the server could not return it. */
  newest_message: MessageInfo | 'unread' | null
  busy: boolean
}

/** Binds the session that was read. `at_query` is the state at the start of its turn query. */
export function sessionRead(
  state: TrackedSession,
  { session, newest_message, busy }: SessionReading,
  at_query: TrackedSession,
  now_ms: number,
): TrackedSession {
  const next = withNewest(bound(state, session), newest_message)
  if (next.doubt === 'breaks') return beginTurn(next)
  if (busy) return statusAnswered(next, busy, at_query)
  // The server may not know a turn that has just begun.
  if (next.doubt !== null) return beginTurn(next)
  if (state.candidate === session.id || isFresh(newest_message, now_ms)) return turnPresumed(next)
  if (newest_message === null && now_ms - session.time.created < LIMITS.opencode_first_prompt_ms)
    return turnPresumed(next, 'created')
  return statusAnswered(next, busy, at_query)
}

/**
 * Whether the message is unanswered and so recent that its turn may not have begun. `time` is the arrival of the prompt,
 * so a prompt that took long to prepare is not recognized.
 */
function isFresh(message: SessionReading['newest_message'], now_ms: number): boolean {
  if (message === 'unread') return true
  return message?.role === 'user' && now_ms - message.time.created < LIMITS.opencode_begin_ms
}

/** Takes over messages and answers that arrived while no server was connected. */
function withNewest(state: TrackedSession, message: SessionReading['newest_message']): TrackedSession {
  if (message === null || message === 'unread') return state
  if (message.role === 'assistant') return answerReported(state, message)
  return message.id > state.newest_message_id ? { ...state, newest_message_id: message.id } : state
}

/**
 * Handles a reported answer. A rejection ends the turn, unless the person added a message or the settings differ: then
 * the agent starts another answer. Without a previously read answer the rejected one is unknown.
 */
function answerReported(
  state: TrackedSession,
  { id, parentID }: Pick<Message, 'id' | 'parentID'>,
): TrackedSession {
  const next = messageAnswered(state, parentID)
  if (id <= next.newest_answer_id) return next
  const continues = next.newest_answer_id !== ''
  return { ...next, newest_answer_id: id, interrupted: next.interrupted && !continues }
}

/** Ids are ascending, and a turn shows the model all earlier stored messages, so earlier doorbells count as seen. */
function messageAnswered(state: TrackedSession, message_id = ''): TrackedSession {
  if (message_id <= state.answered_message_id) return state
  const seen = state.stored.filter((bell) => bell.message_id <= message_id)
  return {
    ...state,
    answered_message_id: message_id,
    stored: state.stored.filter((bell) => !seen.includes(bell)),
    seen_doorbell_id: seen.at(-1)?.doorbell_id ?? state.seen_doorbell_id,
  }
}

type Part = StoredMessage['parts'][number]

function partStored(state: TrackedSession, part: Part, identity: Identity): TrackedSession {
  const { messageID: message_id, metadata } = part
  const doorbell_id = parseBellName(metadata?.[BELL_KEY], identity)
  if (doorbell_id === null || state.stored.some((bell) => bell.message_id === message_id)) return state
  const sent = state.sent === doorbell_id ? null : state.sent
  if (message_id <= state.answered_message_id)
    return sent === state.sent ? state : { ...state, sent, seen_doorbell_id: doorbell_id }
  return { ...state, sent, stored: [...state.stored, { message_id, doorbell_id }] }
}

/** Whether the event reports a rejected permission request or question. */
export function isRefusal(event: Event): boolean {
  if (event.type === 'permission.replied') return event.properties.reply === 'reject'
  return event.type === 'question.rejected'
}

export function eventReceived(state: TrackedSession, event: Event, identity: Identity): TrackedSession {
  const { sessionID } = event.properties
  if (event.type === 'session.created') return sessionCreated(state, event.properties.info)
  if (event.type === 'session.updated') return sessionUpdated(state, event.properties.info)
  if (sessionID === state.session?.id) return boundEvent(state, event, identity)
  const is_user_message = event.type === 'message.updated' && event.properties.info.role === 'user'
  return is_user_message && state.candidate !== sessionID ? { ...state, candidate: sessionID } : state
}

function boundEvent(
  state: TrackedSession,
  event: Exclude<Event, { type: 'session.created' | 'session.updated' }>,
  identity: Identity,
): TrackedSession {
  switch (event.type) {
    case 'session.deleted':
      return unbound(state)
    case 'message.updated':
      return messageUpdated(state, event.properties.info)
    case 'session.status':
      return event.properties.status.type === 'idle' ? turnEnded(state) : turnRuns(state)
    case 'session.idle':
      return turnEnded(state)
    case 'session.error': {
      const { error } = event.properties
      const with_agent = withMissingAgent(state, error?.data?.message)
      const aborted = error?.name === 'MessageAbortedError'
      // Without a running turn, the error is the rejection of a prompt that was accepted and not stored.
      const rejected = !aborted && state.turn === 'idle'
      const next = { ...with_agent, ...(aborted && { interrupted: true }), ...(rejected && { sent: null }) }
      return next.turn === 'idle' ? next : { ...next, doubt: 'breaks' }
    }
    case 'message.removed': {
      const { messageID } = event.properties
      const stored = state.stored.filter(({ message_id }) => message_id !== messageID)
      return stored.length === state.stored.length ? state : { ...state, stored }
    }
    case 'message.part.updated': {
      return partStored(state, event.properties.part, identity)
    }
    case 'permission.replied':
    case 'question.rejected':
      return isRefusal(event) ? { ...state, interrupted: true } : state
  }
}

/** A window creates its session with the person's first prompt, so a doorbell now would end up in that prompt's turn. */
function sessionCreated(state: TrackedSession, info: Session): TrackedSession {
  if (!isUserSession(info)) return state
  const next = bound(state, info)
  return info.id === state.session?.id ? next : turnPresumed(next, 'created')
}

function sessionUpdated(state: TrackedSession, info: Session): TrackedSession {
  if (info.id === state.session?.id) return bound(state, info)
  if (info.id !== state.candidate) return state
  if (!isUserSession(info)) return { ...state, candidate: null }
  // A message was written in it, so its turn begins or has begun.
  return turnPresumed(bound(state, info))
}

type Message = Extract<Event, { type: 'message.updated' }>['properties']['info']

function messageUpdated(state: TrackedSession, info: Message): TrackedSession {
  if (info.role === 'assistant') return answerReported(state, info)
  if (info.role !== 'user' || info.id <= state.newest_message_id) return state
  const { agent, model } = info
  const choice = {
    ...state.choice,
    ...(agent === undefined ? {} : { agent }),
    ...(model === undefined ? {} : modelChoice(model.providerID, model.modelID, model.variant)),
  }
  const missing_agent = agent === state.missing_agent ? null : state.missing_agent
  const next = { ...state, choice, missing_agent, newest_message_id: info.id, interrupted: false }
  // The server reports busy up to two seconds later. A ring until then may be lost.
  return state.turn === 'busy' && state.doubt === null ? next : turnPresumed(next)
}

/** The error of a prompt that was accepted and then rejected; its message never arrives. */
function withMissingAgent(state: TrackedSession, failure = ''): TrackedSession {
  const { agent } = state.choice
  const missing = agent !== undefined && failure.startsWith(`Agent not found: "${agent}"`)
  return missing ? { ...state, missing_agent: agent } : state
}

/** The second end of a failed turn may still arrive, so its doubt stays. */
function turnRuns(state: TrackedSession): TrackedSession {
  return { ...beginTurn(state), doubt: state.doubt === 'breaks' ? 'breaks' : null }
}

function turnEnded(state: TrackedSession): TrackedSession {
  if (state.doubt !== null) return state
  // A message that was too late for the ended turn begins the next one.
  const has_unanswered = state.turn === 'busy' && state.newest_message_id > state.answered_message_id
  return has_unanswered ? { ...state, doubt: 'begins' } : { ...state, turn: 'idle' }
}

function hasTurnChanged(before: TrackedSession, after: TrackedSession): boolean {
  return before.turn !== after.turn || before.turn_seq !== after.turn_seq || before.doubt !== after.doubt
}

function choiceIn({ agent, model }: Session): TrackedSession['choice'] {
  return {
    ...(agent === undefined ? {} : { agent }),
    ...(model === undefined ? {} : modelChoice(model.providerID, model.id, model.variant)),
  }
}

function modelChoice(providerID: string, modelID: string, variant: string | undefined) {
  return { model: { providerID, modelID }, ...(variant === undefined ? {} : { variant }) }
}

/** Returns the choice for a doorbell's prompt. Without an agent opencode uses its default. */
export function bellChoice({ choice, missing_agent }: TrackedSession): TrackedSession['choice'] {
  const { agent, ...others } = choice
  return agent === undefined || agent === missing_agent ? others : choice
}

// --- the name of a doorbell in a prompt's metadata

const BELL_KEY = 'turnbell'

export function bellMetadata(identity: Identity, doorbell_id: DoorbellId): Record<string, string> {
  return { [BELL_KEY]: `${identity}:${doorbell_id}` }
}

/** Whether a prompt with this metadata is a doorbell for the persona. */
export function isBellMetadata(metadata: Record<string, unknown> | undefined, identity: Identity): boolean {
  return parseBellName(metadata?.[BELL_KEY], identity) !== null
}

function parseBellName(name: unknown, identity: Identity): DoorbellId | null {
  const prefix = `${identity}:`
  if (typeof name !== 'string' || !name.startsWith(prefix)) return null
  // Any author of the session can write this key, so the id is validated.
  return DoorbellId.safeParse(name.slice(prefix.length)).data ?? null
}
