/**
 * Where one opencode session's turn stands, from what its server tells. Pure: every function gives the
 * next state.
 *
 * The session that is rung is the one a person works in: the newest that began, or the one that was last
 * written to. A subagent's session has a parent and is never bound.
 */
import type { Event, KeptMessage, Prompt, Session, StoredMessage } from './protocol.ts'
import { DoorbellId, type Identity } from '../../src/contracts/ids.ts'
import { LIMITS } from '../../src/contracts/limits.ts'
import type { Turn } from '../../src/contracts/registry.ts'

export interface TrackedSession {
  /** Null while no session is bound. */
  session: { id: string; directory: string } | null
  turn: Turn
  /** Grows with every turn that begins, also across sessions. */
  turn_seq: number
  seen_doorbell_id: DoorbellId | null
  /** What the person works with; a bell without it would change it, for the person too. */
  choice: Pick<Prompt, 'agent' | 'model' | 'variant'>
  /** An agent of the person's choice that opencode does not know any more: it takes no prompt for it. */
  missing_agent: string | null
  /** Ids ascend. opencode tells of older messages again. */
  newest_message_id: string
  /** The newest that an answer was begun to. */
  answered_message_id: string
  /** The newest answer; a turn goes on with another one. */
  newest_answer_id: string
  /** Doorbells whose prompts are stored in the session and were not answered yet. */
  standing: readonly StoredBell[]
  /** A doorbell that was handed to the server and of whose message nothing is known yet. */
  handed: DoorbellId | null
  /** A person aborted the last turn, or refused what it asked for and so ended it, and has written nothing since. */
  interrupted: boolean
  /** Another session in which somebody wrote; bound once it is known to be no subagent's. */
  candidate: string | null
  /**
   * What was told does not say whether a turn runs, so the server is asked in a while. `created`: most begin
   * with a message, which is told a moment later. `begins`: a message came, its turn not yet. `breaks`: a turn was
   * aborted, or failed; the end of such a one is told twice, and what is rung between the two may be lost.
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
  standing: [],
  handed: null,
  interrupted: false,
  candidate: null,
  doubt: null,
} as const

/** Turn numbers must not go back when a killed shim is replaced, so they begin with the time. */
export function startTracking(now_ms: number): TrackedSession {
  return { ...UNBOUND, turn_seq: now_ms, seen_doorbell_id: null }
}

export function isPersons({ parentID }: Session): boolean {
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
 * The connection is gone, and perhaps the server with it. The session and its messages are kept on disk; the next
 * connection reports the turn. A prompt that a server has accepted it still stores if only the connection broke.
 */
export function adrift(state: TrackedSession): TrackedSession {
  return { ...state, turn: 'unknown', doubt: null }
}

/** Another process answers: a prompt that the former one had accepted and not stored is gone. */
export function serverReplaced(state: TrackedSession): TrackedSession {
  return state.handed === null ? state : { ...state, handed: null }
}

/** A turn runs, and that is not only presumed. */
export function isRunning({ turn, doubt }: TrackedSession): boolean {
  return turn === 'busy' && doubt === null
}

/** The newest doorbell that the server still holds and that no turn has begun with. */
export function outstanding({ standing, handed }: TrackedSession): DoorbellId | null {
  return handed ?? standing.at(-1)?.doorbell_id ?? null
}

/** A doorbell is being handed to the server. */
export function bellHanded(state: TrackedSession, doorbell_id: DoorbellId): TrackedSession {
  return { ...state, handed: doorbell_id }
}

/** The server has refused it, or deleted it, or holds no trace of it. */
export function bellGone(state: TrackedSession, doorbell_id: DoorbellId): TrackedSession {
  return {
    ...state,
    handed: state.handed === doorbell_id ? null : state.handed,
    standing: state.standing.filter((bell) => bell.doorbell_id !== doorbell_id),
  }
}

/** What the server has stored of the session, oldest first: the newest messages. */
export function messagesRead(
  state: TrackedSession,
  messages: readonly StoredMessage[],
  identity: Identity,
): TrackedSession {
  const answered = messages.reduce(
    (next, { info }) => (info.role === 'assistant' ? answerTold(next, info) : next),
    state,
  )
  const parts = messages.flatMap(({ info, parts }) => parts.map((part) => ({ ...part, messageID: info.id })))
  const next = parts.reduce((before, part) => partStored(before, part, identity), answered)
  if (next.seen_doorbell_id !== null) return next
  // A shim that was restarted reports the last doorbell that this session has seen.
  const seen = parts.flatMap(({ messageID, metadata }) =>
    messageID <= next.answered_message_id ? (bellIn(metadata?.[BELL_KEY], identity) ?? []) : [],
  )
  return { ...next, seen_doorbell_id: seen.at(-1) ?? null }
}

/** A turn runs, or is about to, of which no event told yet. */
export function turnPresumed(state: TrackedSession, doubt: Presumption = 'begins'): TrackedSession {
  return { ...turnBegun(state), doubt }
}

/** What the server answered. `asked` is the state in which it was: what was told of the turn since is newer. */
export function statusAnswered(state: TrackedSession, busy: boolean, asked: TrackedSession): TrackedSession {
  if (state.session === null) return state
  if (asked.session?.id === state.session.id) {
    if (turnMoved(asked, state)) return state
    // The turn of a message that came since may not have begun when it answered.
    const spoken = asked.newest_message_id !== state.newest_message_id
    if (spoken && !busy) return { ...state, doubt: 'begins' }
  }
  if (busy) return { ...turnBegun(state), doubt: null }
  // Its turn is still to come, however slow the server is.
  if (state.standing.length > 0) return { ...turnBegun(state), doubt: 'begins' }
  return state.doubt === null ? turnEnded(state) : { ...state, turn: 'idle', doubt: null }
}

/** What the server answered when it was asked for a session: what it is, what was said last, whether a turn runs. */
export interface LookedUp {
  session: Session
  /** `unread` where the server could not show it. */
  newest_message: KeptMessage | 'unread' | null
  busy: boolean
}

/** Binds the session that was looked up. `asked` is the state in which its turn was asked for. */
export function lookedUp(
  state: TrackedSession,
  { session, newest_message, busy }: LookedUp,
  asked: TrackedSession,
  now_ms: number,
): TrackedSession {
  const next = withNewest(bound(state, session), newest_message)
  if (next.doubt === 'breaks') return turnBegun(next)
  if (busy) return statusAnswered(next, busy, asked)
  // The server may not know yet of a turn that just began, whether that was told or not.
  if (next.doubt !== null) return turnBegun(next)
  if (state.candidate === session.id || isFresh(newest_message, now_ms)) return turnPresumed(next)
  if (newest_message === null && now_ms - session.time.created < LIMITS.opencode_first_prompt_ms)
    return turnPresumed(next, 'created')
  return statusAnswered(next, busy, asked)
}

/**
 * A message that was not answered, so lately that its turn may not have begun. `time` is when the prompt came:
 * one that took the server long to prepare is not known by it.
 */
function isFresh(message: LookedUp['newest_message'], now_ms: number): boolean {
  if (message === 'unread') return true
  return message?.role === 'user' && now_ms - message.time.created < LIMITS.opencode_begin_ms
}

/** What was said and answered while nothing was heard. */
function withNewest(state: TrackedSession, message: LookedUp['newest_message']): TrackedSession {
  if (message === null || message === 'unread') return state
  if (message.role === 'assistant') return answerTold(state, message)
  return message.id > state.newest_message_id ? { ...state, newest_message_id: message.id } : state
}

/**
 * A refusal ends the turn, unless the person wrote a word with it or the settings say otherwise: then the agent
 * begins another answer. Which one it refused is not known where no answer was read before.
 */
function answerTold(
  state: TrackedSession,
  { id, parentID }: Pick<Message, 'id' | 'parentID'>,
): TrackedSession {
  const next = answeredTo(state, parentID)
  if (id <= next.newest_answer_id) return next
  const goes_on = next.newest_answer_id !== ''
  return { ...next, newest_answer_id: id, interrupted: next.interrupted && !goes_on }
}

/** Ids ascend, and a turn shows the model everything that was stored before: also doorbells of earlier prompts. */
function answeredTo(state: TrackedSession, message_id = ''): TrackedSession {
  if (message_id <= state.answered_message_id) return state
  const seen = state.standing.filter((bell) => bell.message_id <= message_id)
  return {
    ...state,
    answered_message_id: message_id,
    standing: state.standing.filter((bell) => !seen.includes(bell)),
    seen_doorbell_id: seen.at(-1)?.doorbell_id ?? state.seen_doorbell_id,
  }
}

type Part = StoredMessage['parts'][number]

function partStored(state: TrackedSession, part: Part, identity: Identity): TrackedSession {
  const { messageID: message_id, metadata } = part
  const doorbell_id = bellIn(metadata?.[BELL_KEY], identity)
  if (doorbell_id === null || state.standing.some((bell) => bell.message_id === message_id)) return state
  const handed = state.handed === doorbell_id ? null : state.handed
  if (message_id <= state.answered_message_id)
    return handed === state.handed ? state : { ...state, handed, seen_doorbell_id: doorbell_id }
  return { ...state, handed, standing: [...state.standing, { message_id, doorbell_id }] }
}

/** A request for permission, or a question, was denied. */
export function isRefusal(event: Event): boolean {
  if (event.type === 'permission.replied') return event.properties.reply === 'reject'
  return event.type === 'question.rejected'
}

export function told(state: TrackedSession, event: Event, identity: Identity): TrackedSession {
  const { sessionID } = event.properties
  if (event.type === 'session.created') return sessionCreated(state, event.properties.info)
  if (event.type === 'session.updated') return sessionUpdated(state, event.properties.info)
  if (sessionID === state.session?.id) return toldOfBound(state, event, identity)
  const written = event.type === 'message.updated' && event.properties.info.role === 'user'
  return written && state.candidate !== sessionID ? { ...state, candidate: sessionID } : state
}

function toldOfBound(
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
      const missed = agentMissed(state, error?.data?.message)
      const aborted = error?.name === 'MessageAbortedError'
      // While no turn runs, the error is the refusal of a prompt that was accepted and not stored.
      const refused = !aborted && state.turn === 'idle'
      const next = { ...missed, ...(aborted && { interrupted: true }), ...(refused && { handed: null }) }
      return next.turn === 'idle' ? next : { ...next, doubt: 'breaks' }
    }
    case 'message.removed': {
      const { messageID } = event.properties
      const standing = state.standing.filter(({ message_id }) => message_id !== messageID)
      return standing.length === state.standing.length ? state : { ...state, standing }
    }
    case 'message.part.updated': {
      return partStored(state, event.properties.part, identity)
    }
    case 'permission.replied':
    case 'question.rejected':
      return isRefusal(event) ? { ...state, interrupted: true } : state
  }
}

/** A window has a session only from its person's first prompt on: what is rung now would stand in that one. */
function sessionCreated(state: TrackedSession, info: Session): TrackedSession {
  if (!isPersons(info)) return state
  const next = bound(state, info)
  return info.id === state.session?.id ? next : turnPresumed(next, 'created')
}

function sessionUpdated(state: TrackedSession, info: Session): TrackedSession {
  if (info.id === state.session?.id) return bound(state, info)
  if (info.id !== state.candidate) return state
  if (!isPersons(info)) return { ...state, candidate: null }
  // Somebody wrote in it, so its turn begins, if it has not done so already.
  return turnPresumed(bound(state, info))
}

type Message = Extract<Event, { type: 'message.updated' }>['properties']['info']

function messageUpdated(state: TrackedSession, info: Message): TrackedSession {
  if (info.role === 'assistant') return answerTold(state, info)
  if (info.role !== 'user' || info.id <= state.newest_message_id) return state
  const { agent, model } = info
  const choice = {
    ...state.choice,
    ...(agent === undefined ? {} : { agent }),
    ...(model === undefined ? {} : modelChoice(model.providerID, model.modelID, model.variant)),
  }
  const missing_agent = agent === state.missing_agent ? null : state.missing_agent
  const next = { ...state, choice, missing_agent, newest_message_id: info.id, interrupted: false }
  // The server says busy up to two seconds later. What is rung until then may be lost.
  return state.turn === 'busy' && state.doubt === null ? next : turnPresumed(next)
}

/** All that tells of a prompt that was taken and then refused; its message never comes. */
function agentMissed(state: TrackedSession, failure = ''): TrackedSession {
  const { agent } = state.choice
  const missing = agent !== undefined && failure.startsWith(`Agent not found: "${agent}"`)
  return missing ? { ...state, missing_agent: agent } : state
}

function turnBegun<S extends TrackedSession>(state: S): S {
  return { ...state, turn: 'busy', turn_seq: state.turn === 'busy' ? state.turn_seq : state.turn_seq + 1 }
}

/** Of a turn that broke the second end may still come, whatever runs now. */
function turnRuns(state: TrackedSession): TrackedSession {
  return { ...turnBegun(state), doubt: state.doubt === 'breaks' ? 'breaks' : null }
}

function turnEnded(state: TrackedSession): TrackedSession {
  if (state.doubt !== null) return state
  // A message that came too late for the turn that ended begins the next one.
  const left = state.turn === 'busy' && state.newest_message_id > state.answered_message_id
  return left ? { ...state, doubt: 'begins' } : { ...state, turn: 'idle' }
}

function turnMoved(before: TrackedSession, after: TrackedSession): boolean {
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

/** With no agent opencode takes its default. */
export function bellChoice({ choice, missing_agent }: TrackedSession): TrackedSession['choice'] {
  const { agent, ...others } = choice
  return agent === undefined || agent === missing_agent ? others : choice
}

// --- the name that a bell bears

const BELL_KEY = 'turnbell'

export function bellMetadata(identity: Identity, doorbell_id: DoorbellId): Record<string, string> {
  return { [BELL_KEY]: `${identity}:${doorbell_id}` }
}

function bellIn(name: unknown, identity: Identity): DoorbellId | null {
  const prefix = `${identity}:`
  if (typeof name !== 'string' || !name.startsWith(prefix)) return null
  // Whoever writes in the session may write this too; the daemon takes no report with what is no id.
  return DoorbellId.safeParse(name.slice(prefix.length)).data ?? null
}
