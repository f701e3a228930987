/** Records the tool calls of one opencode session, and its requests to a person: for permission, or with a question. */
import type { Call, EventOf } from './client-events.ts'
import {
  ABORTED,
  given,
  remembered,
  word,
  type Run,
  type Thread,
  type ThreadRecorder,
} from './recorded-thread.ts'
import type { WaitingFor } from '../../../src/contracts/activity/event.ts'

export interface ThreadCalls {
  updated(call: Call): void
  permissionAsked(request: EventOf<'permission.asked'>): void
  questionAsked(request: EventOf<'question.asked'>): void
  /** `rejected`: the call will fail for that reason. */
  answered(request_id: string, rejected: boolean): void
}

interface KnownCall {
  action_id: string
  part_id: string
  /** As the model named it: opencode renames a call of an unknown tool. */
  tool: string
  run: Run | null
  state: 'announced' | 'started' | 'ended'
  rejected: boolean
}
interface KnownWait {
  call_id: string | undefined
  turn_seq: number | undefined
}

/** opencode's texts for the model if a rule forbids a call, or a person whose answer was not seen. */
const DENIED = /^The user (has specified a rule which prevents you|rejected permission)/
/** The call of a tool that does not exist. */
const INVALID = 'invalid'
const PLANS: ReadonlySet<string> = new Set(['plan_exit', 'plan_enter'])

export function threadCalls(thread: Thread, recorder: ThreadRecorder): ThreadCalls {
  // Ended calls are remembered, too, because opencode reports them again.
  const calls = remembered<KnownCall>()
  const waits = threadWaits(thread, recorder)

  function callOf({ id: part_id, callID, tool }: Call): KnownCall {
    const known = calls.get(callID)
    if (known?.part_id === part_id) return known
    // Some models count the calls of each answer from the beginning.
    const action_id = word(known === undefined ? callID : `${callID}-${part_id}`)
    const call: KnownCall = { action_id, part_id, tool, run: thread.run, state: 'announced', rejected: false }
    calls.set(callID, call)
    return call
  }

  function start(call: KnownCall, { state }: Call): void {
    if (call.state !== 'announced') return
    call.state = 'started'
    const data = { action_id: call.action_id, tool: word(call.tool), ...given({ input: state.input }) }
    recorder.record(thread, { kind: 'action.started', data }, state.time?.start, call.run?.turn_seq)
  }

  function end(call: KnownCall, { tool, state }: Call): void {
    call.state = 'ended'
    const { time, output, metadata } = state
    const exit_code = metadata?.exit
    const about = {
      action_id: call.action_id,
      tool: word(call.tool),
      ...given({ duration_ms: durationOf(time), exit_code }),
    }
    const denied = call.rejected || DENIED.test(state.error ?? '')
    // opencode completes a command of any exit code, an aborted one, and the call of a tool that does not exist.
    const failed =
      state.status === 'error' ||
      (exit_code ?? 0) !== 0 ||
      tool === INVALID ||
      call.run?.failure?.reason === ABORTED
    const at = time?.end
    const turn_seq = call.run?.turn_seq
    if (failed) {
      const data = { ...about, ...given({ error: state.error ?? output, denied: denied ? true : undefined }) }
      recorder.record(thread, { kind: 'action.failed', data }, at, turn_seq)
    } else
      recorder.record(
        thread,
        { kind: 'action.ended', data: { ...about, ...given({ output }) } },
        at,
        turn_seq,
      )
  }

  return {
    updated(call) {
      const { status, time } = call.state
      // The output of an old call was removed to save space.
      if (time?.compacted !== undefined) return
      const known = callOf(call)
      if (known.state === 'ended' || status === 'pending') return
      start(known, call)
      if (status === 'completed' || status === 'error') end(known, call)
    },
    permissionAsked: ({ id, tool, permission }) =>
      waits.begin(id, tool?.callID, 'permission', calls.get(tool?.callID ?? '')?.tool ?? permission),
    questionAsked({ id, tool, questions }) {
      const is_plan = PLANS.has(calls.get(tool?.callID ?? '')?.tool ?? '')
      waits.begin(id, tool?.callID, is_plan ? 'plan' : 'question', questions[0]?.question)
    },
    answered(request_id, rejected) {
      const call = calls.get(waits.end(request_id) ?? '')
      if (call !== undefined && rejected) call.rejected = true
    },
  }
}

function threadWaits(thread: Thread, recorder: ThreadRecorder) {
  const waits = remembered<KnownWait>()
  return {
    begin(id: string, call_id: string | undefined, reason: WaitingFor, what: string | undefined): void {
      const turn_seq = thread.run?.turn_seq
      waits.set(id, { call_id, turn_seq })
      const data = { waiting_id: word(id), for: reason, ...given({ what: word(what) }) }
      recorder.record(thread, { kind: 'waiting.started', data }, undefined, turn_seq)
    },
    /** Returns the call that waited. */
    end(id: string): string | undefined {
      const wait = waits.take(id)
      const data = { waiting_id: word(id) }
      recorder.record(thread, { kind: 'waiting.ended', data }, undefined, wait?.turn_seq)
      return wait?.call_id
    },
  }
}

function durationOf(time: Call['state']['time']): number | undefined {
  const { start, end } = time ?? {}
  return start === undefined || end === undefined ? undefined : Math.max(0, Math.round(end - start))
}
