/**
 * Turns what a history file shows into numbered events of one session.
 *
 * The numbers depend only on the lines: the event with number n is the same in every run, and also after the file has grown.
 * Therefore a pause in the file ends the session, and the next line starts it again, exactly as the end of the file does.
 */
import { cutOrNone, cutValue } from './cut-text.ts'
import { given, wordOf } from './fields.ts'
import {
  ACTIVITY_DATA,
  type ActivityData,
  type ActivityKind,
  type EndStatus,
} from '../../../contracts/activity/event.ts'
import type { Json, Timestamp } from '../../../contracts/ids.ts'
import { LIMITS } from '../../../contracts/limits/limits.ts'

/** An event without the fields that only a report needs. */
export type HistoryEvent = {
  [Kind in ActivityKind]: { kind: Kind; data: ActivityData<Kind> }
}[ActivityKind] & { agent_id: string | null; turn_seq: number; seq: number; at: Timestamp }

export interface Place {
  /** The subagent; null for the main agent. */
  agent: string | null
  /** Default: the last turn. */
  turn?: number | undefined
}

export const MAIN: Place = { agent: null }

/** What ended a turn, while its end is not certain: the agent may continue. */
interface Answer {
  at: number
  status: EndStatus
  error: string
}

export type Recorder = ReturnType<typeof createRecorder>

/** `continues`: the session from which this one was forked. */
export function createRecorder(continues?: string) {
  const timeline = createTimeline(continues)
  const { emit, ...rest } = timeline
  return { ...rest, ...requestsOf(timeline), ...actionsOf(timeline), ...detailsOf(emit) }
}

type Timeline = ReturnType<typeof createTimeline>
type Emit = Timeline['emit']

/** A running turn. */
interface Request {
  id: string | undefined
  answer: Answer | null
}

/** Numbers the events, and begins and ends the session by the times of the lines. */
function createTimeline(continues: string | undefined) {
  let events: HistoryEvent[] = []
  let seq = 0
  let phase: 'new' | 'open' | 'ended' = 'new'
  const current = { turn: 0, now: -Infinity, request: null as Request | null }

  function emit<Kind extends ActivityKind>(
    kind: Kind,
    data: ActivityData<Kind>,
    place = MAIN,
    at = current.now,
  ): void {
    // One invalid event would make the hub reject its whole report.
    if (!ACTIVITY_DATA[kind].safeParse(data).success) return
    const where = { agent_id: place.agent, turn_seq: place.turn ?? current.turn }
    seq += 1
    events.push({ kind, data, ...where, seq, at: new Date(at).toISOString() } as unknown as HistoryEvent)
  }

  /** Whether the session has ended if no line follows for this time. */
  const isOver = (pause_ms: number): boolean => {
    const is_running = current.request?.answer === null
    return (
      phase === 'open' && pause_ms >= (is_running ? LIMITS.history_open_pause_ms : LIMITS.history_pause_ms)
    )
  }

  function end(): void {
    const answer = current.request?.answer ?? null
    if (answer !== null) endRequest(answer.status, answer)
    emit('session.ended', { reason: 'import' })
    phase = 'ended'
  }

  function endRequest(status: EndStatus, { at = current.now, reason, error = '' }: EndDetails = {}): void {
    if (current.request === null) return
    const more = given({ request_id: current.request.id, reason: wordOf(reason), error: cutOrNone(error) })
    current.request = null
    emit('request.ended', { status, ...more }, MAIN, at)
  }

  return {
    current,
    emit,
    endRequest,
    /** Returns the events since the last call. */
    take(): HistoryEvent[] {
      const taken = events
      events = []
      return taken
    },
    /** All further calls are about this time. `project` is the working directory, if the line has one. */
    line(at: number, project: string | undefined): void {
      if (isOver(at - current.now)) end()
      current.now = Math.max(current.now, at)
      if (phase === 'open' || (phase === 'new' && project === undefined)) return
      const about = phase === 'new' ? { reason: 'import', project, continues } : { reason: 'resume' }
      phase = 'open'
      emit('session.started', given(about))
    },
    /** No line follows until `until`. The session ends unless it may still be running. */
    finish(until: number): void {
      if (isOver(until - current.now)) end()
    },
  }
}

function requestsOf({ current, emit, endRequest }: Timeline) {
  /** Ends the running turn as it was answered. */
  function settle(unanswered: EndStatus): void {
    const answer = current.request?.answer ?? null
    if (answer === null) endRequest(unanswered)
    else endRequest(answer.status, answer)
  }
  return {
    settle,
    prompt(prompt: string, type: string, id?: string): void {
      settle('interrupted')
      current.turn += 1
      current.request = { id: wordOf(id), answer: null }
      const data = { request_id: current.request.id, prompt: cutOrNone(prompt), prompt_type: type }
      emit('request.started', given(data))
    },
    /** The agent works in the running turn. */
    works(): void {
      if (current.request !== null) current.request.answer = null
    },
    /** The turn ends with this, if nothing of the turn follows. */
    answered(status: EndStatus, error = ''): void {
      if (current.request !== null) current.request.answer = { at: current.now, status, error }
    },
  }
}

function actionsOf({ current, emit }: Timeline) {
  /** Running calls, and when they began. */
  const calls = new Map<string, number>()
  return {
    actionStarted(id: string, tool: string, input: Json | undefined, place = MAIN): void {
      calls.set(id, current.now)
      const named = { action_id: id.slice(0, ID_MAX), tool: tool.slice(0, ID_MAX) }
      emit('action.started', { ...named, ...given({ input: cutValue(input) }) }, place)
    },
    /** Does nothing for a call that is not running. */
    actionEnded(id: string, { failed, text, exit_code, denied, duration_ms }: ActionEnd, place = MAIN): void {
      const began = calls.get(id)
      if (began === undefined) return
      calls.delete(id)
      const facts = {
        action_id: id.slice(0, ID_MAX),
        duration_ms: Math.round(duration_ms ?? current.now - began),
        ...given({ exit_code }),
      }
      if (failed) emit('action.failed', { ...facts, ...given({ error: cutOrNone(text), denied }) }, place)
      else emit('action.ended', { ...facts, ...given({ output: cutOrNone(text) }) }, place)
    },
  }
}
const ID_MAX = 256

function detailsOf(emit: Emit) {
  /** Last figures of each model request, to leave out repetitions. */
  const figures = new Map<string, string>()
  return {
    subtaskStarted(
      id: string,
      about: { type?: string | undefined; description?: string | undefined },
      place: Place,
    ): void {
      const more = { agent_type: wordOf(about.type), description: cutOrNone(about.description ?? '') }
      emit('subtask.started', { subtask_id: id.slice(0, ID_MAX), ...given(more) }, { ...place, agent: null })
    },
    subtaskEnded(id: string, status: EndStatus, result: string, place: Place): void {
      const more = given({ result: cutOrNone(result) })
      emit('subtask.ended', { subtask_id: id.slice(0, ID_MAX), status, ...more }, { ...place, agent: null })
    },
    usage(id: string, data: Omit<ActivityData<'usage'>, 'usage_id'>, place = MAIN): void {
      const text = JSON.stringify(data)
      if (figures.get(id) === text) return
      figures.set(id, text)
      emit('usage', { usage_id: id.slice(0, ID_MAX), ...data }, place)
    },
    compacted(trigger: string | undefined, sizes: ActivityData<'compaction.ended'>): void {
      emit('compaction.started', given({ trigger: wordOf(trigger) }))
      emit('compaction.ended', sizes)
    },
  }
}

interface EndDetails {
  at?: number
  reason?: string | undefined
  error?: string | undefined
}

interface ActionEnd {
  failed: boolean
  text: string
  exit_code?: number | undefined
  denied?: boolean | undefined
  /** Default: the time since the beginning. */
  duration_ms?: number | undefined
}
