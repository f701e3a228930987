/**
 * Records the turns of one opencode session: a request for each prompt of a person's session, and the work of a subagent's
 * session; the model's usage, compactions, and waits for a model that rejects requests.
 */
import type { EventOf, Failure, Message, Part } from './client-events.ts'
import { unansweredPrompts, type Prompted } from './prompts.ts'
import {
  ABORTED,
  given,
  isoTime,
  modelName,
  word,
  type Run,
  type Thread,
  type ThreadRecorder,
} from './recorded-thread.ts'
import type { ActivityData } from '../../../src/contracts/activity/event.ts'

export interface ThreadTurns {
  messageUpdated(message: Message): void
  messageRemoved(message_id: string): void
  partUpdated(part: Exclude<Part, { type: 'tool' }>): void
  status(status: EventOf<'session.status'>['status']): void
  failed(failure: Failure | undefined): void
  compacted(): void
  /** A person rejected a request for permission or a question. The turn ends, unless another answer begins. */
  refused(): void
  /** No turn runs any more. */
  ended(): void
  /** A run was missed: this failure of its last answer was read. */
  endedWith(failure: Failure | undefined): void
}

export interface ThreadTurnsDeps {
  recorder: ThreadRecorder
  isBell: (metadata: Record<string, unknown> | undefined) => boolean
}

export function threadTurns(thread: Thread, { recorder, isBell }: ThreadTurnsDeps): ThreadTurns {
  const prompts = unansweredPrompts(isBell)
  const runs = thread.parent === null ? requests(thread, recorder) : subtasks(thread, thread.parent, recorder)
  const usage = usageOf(thread, recorder)
  const compactions = compactionsOf(thread, recorder, usage)
  const retries = retriesOf(thread, recorder)
  /** Ids are ascending, and older answers may be reported again. */
  let newest_answer_id = ''

  function promptAnswered(request_id: string): void {
    const prompted = prompts.takeUntil(request_id)
    if (prompted === null) runs.continued(request_id)
    else if (!prompted.is_compaction) runs.prompted(request_id, prompted)
  }

  function answered(message: Message): void {
    if (message.id > newest_answer_id) {
      newest_answer_id = message.id
      if (message.parentID !== undefined) promptAnswered(message.parentID)
      // Another answer follows what went wrong before.
      if (thread.run !== null) Object.assign(thread.run, { failure: null })
    }
    if (message.id === newest_answer_id && message.error !== undefined) noteFailure(message.error)
    usage.reported(message)
  }

  function noteFailure(failure: Failure): void {
    if (thread.run !== null) thread.run.failure = failureOf(failure)
  }

  function endRun(): void {
    retries.end()
    compactions.end()
    if (thread.run !== null) runs.end(thread.run)
    thread.run = null
  }

  return {
    messageUpdated(message) {
      if (message.role === 'assistant') return answered(message)
      if (message.role === 'user' && prompts.add(message)) runs.announced()
    },
    messageRemoved: (message_id) => prompts.remove(message_id),
    partUpdated(part) {
      prompts.addPart(part)
      if (part.type === 'compaction') compactions.begin(part.auto === true ? 'auto' : 'manual')
      if (
        part.type === 'text' &&
        part.messageID === newest_answer_id &&
        thread.run !== null &&
        part.text !== ''
      )
        thread.run.result = part.text
    },
    status({ type, message, next }) {
      if (type === 'retry') return retries.begin(message, next)
      retries.end()
      if (type === 'idle') endRun()
    },
    failed(failure = {}) {
      const is_abort = failure.name === ABORTED
      const newest = prompts.newest()
      // A prompt that failed before its answer began.
      if (thread.run === null && newest !== null) promptAnswered(newest)
      noteFailure(failure)
      if (is_abort) return
      const data = { what: word(failure.name ?? 'error'), ...given({ message: failure.data?.message }) }
      recorder.record(thread, { kind: 'error', data })
    },
    compacted: () => compactions.done(),
    refused() {
      if (thread.run !== null) thread.run.failure = { status: 'interrupted', reason: 'rejected' }
    },
    ended: endRun,
    endedWith(failure) {
      if (failure !== undefined) noteFailure(failure)
      endRun()
    },
  }
}

function failureOf({ name, data }: Failure): Run['failure'] {
  const reason = word(name)
  return name === ABORTED
    ? { status: 'interrupted', reason }
    : { status: 'failed', reason, error: data?.message ?? name }
}

/** The runs of one session. `announced`: a prompt was stored. `continued`: an answer to a prompt that was not seen. */
interface Runs {
  announced(): void
  prompted(request_id: string, prompted: Prompted): void
  continued(request_id: string): void
  end(run: Run): void
}

/** Runs of a person's session: one request for each prompt. A prompt that is answered in the same turn ends the one before it. */
function requests(thread: Thread, recorder: ThreadRecorder): Runs {
  function begin(request_id: string, prompted: Partial<Prompted>): void {
    if (thread.run !== null) end(thread.run)
    const { text: prompt, by = 'person', at } = prompted
    const data = { request_id: word(request_id), prompt_type: by, ...given({ prompt }) }
    const turn_seq = recorder.record(thread, { kind: 'request.started', data }, at)
    thread.run = newRun({ turn_seq, request_id: word(request_id), prompt })
    thread.has_run = true
  }

  function end({ turn_seq, request_id, failure }: Run): void {
    const { status = 'completed', reason, error } = failure ?? {}
    const data = { status, ...given({ request_id, reason, error }) } as const
    recorder.record(thread, { kind: 'request.ended', data }, undefined, turn_seq)
    thread.run = null
  }

  return {
    announced() {},
    prompted(request_id, prompted) {
      const { run } = thread
      // What the client itself adds continues the turn, as does the prompt that it repeats after a compaction.
      const repeats = run !== null && run.compacted && run.prompt === prompted.text
      if (run !== null && (prompted.text === undefined || repeats)) return
      begin(request_id, prompted)
    },
    continued(request_id) {
      if (thread.run !== null) return
      recorder.start(thread)
      // The begin was recorded by a process before this one. The number of the turn is stored.
      if (!thread.has_run && thread.was_known)
        thread.run = newRun({ turn_seq: undefined, request_id: word(request_id) })
      else begin(request_id, {})
      thread.has_run = true
    },
    end,
  }
}

/** Runs of a subagent's session, which may be continued. They belong to the request that runs in the person's session. */
function subtasks(thread: Thread, parent: Thread, recorder: ThreadRecorder): Runs {
  function begin(): void {
    if (thread.run !== null) return
    const turn_seq = parent.run?.turn_seq
    const { agent, title } = thread.info
    const about = given({
      agent_type: word(agent),
      description: title?.replace(/ \(@[^()]* subagent\)$/, ''),
      parent_id: parent.parent === null ? undefined : parent.id,
    })
    const data = { subtask_id: word(thread.id), ...about }
    thread.run = newRun({
      turn_seq: recorder.record(parent, { kind: 'subtask.started', data }, undefined, turn_seq),
    })
    thread.has_run = true
  }

  return {
    announced: begin,
    prompted: begin,
    continued: begin,
    end({ turn_seq, failure, result }) {
      const { status = 'completed' } = failure ?? {}
      const data = {
        subtask_id: word(thread.id),
        status,
        ...given({ result: failure?.error ?? result }),
      } as const
      recorder.record(parent, { kind: 'subtask.ended', data }, undefined, turn_seq)
    },
  }
}

function newRun(of: Pick<Run, 'turn_seq'> & Partial<Run>): Run {
  return {
    request_id: undefined,
    prompt: undefined,
    failure: null,
    result: undefined,
    compacted: false,
    ...of,
  }
}

type Usage = ReturnType<typeof usageOf>

/** An answer is reported several times with the same figures. */
function usageOf(thread: Thread, recorder: ThreadRecorder) {
  let last = ''
  let context_tokens: number | undefined
  return {
    /** Size of the conversation after the last answer. */
    context: () => context_tokens,
    reported(message: Message): void {
      const { tokens, cost, providerID, modelID, summary } = message
      const { input, output, reasoning, cache } = tokens ?? {}
      const figures = {
        input_tokens: input,
        // opencode counts reasoning next to the output, other clients as a part of it.
        output_tokens: output === undefined ? undefined : output + (reasoning ?? 0),
        cache_read_tokens: cache?.read,
        cache_write_tokens: cache?.write,
      }
      // Zero until the model has answered.
      if (Object.values(figures).every((figure) => (figure ?? 0) === 0)) return
      // A summary was written from the whole conversation.
      if (summary !== true) context_tokens = tokens?.total ?? context_tokens
      else context_tokens ??= (input ?? 0) + (cache?.read ?? 0) + (cache?.write ?? 0)
      const data: ActivityData<'usage'> = {
        usage_id: word(message.id),
        ...given({ model: modelName(providerID, modelID), ...figures, cost_usd: cost }),
        ...(thread.parent === null && summary !== true ? given({ context_tokens: tokens?.total }) : {}),
      }
      const text = JSON.stringify(data)
      if (text === last) return
      last = text
      recorder.record(thread, { kind: 'usage', data })
    },
  }
}

/** Compactions of the person's session. Those of a subagent do not change what its caller knows. */
function compactionsOf(thread: Thread, recorder: ThreadRecorder, usage: Usage) {
  let is_open = false
  function end(data: ActivityData<'compaction.ended'>): void {
    if (!is_open) return
    is_open = false
    recorder.record(thread, { kind: 'compaction.ended', data })
  }
  return {
    begin(trigger: string): void {
      if (is_open || thread.parent !== null) return
      is_open = true
      recorder.record(thread, { kind: 'compaction.started', data: { trigger } })
    },
    done(): void {
      if (thread.run !== null) thread.run.compacted = true
      // opencode reports no size after it; the next answer does.
      end(given({ tokens_before: usage.context() }))
    },
    /** Ends one that failed: nothing was compacted. */
    end: () => end({}),
  }
}

/** Waits for a model that does not accept requests at the moment. */
function retriesOf(thread: Thread, recorder: ThreadRecorder) {
  let retries = 0
  let waiting_id: string | null = null
  function end(): void {
    if (waiting_id === null) return
    recorder.record(thread, { kind: 'waiting.ended', data: { waiting_id } })
    waiting_id = null
  }
  return {
    begin(message: string | undefined, next: number | undefined): void {
      end()
      waiting_id = word(`${thread.id}-retry-${++retries}`)
      const data = {
        waiting_id,
        for: 'rate_limit',
        ...given({ what: word(message), until: isoTime(next) }),
      } as const
      recorder.record(thread, { kind: 'waiting.started', data })
    },
    end,
  }
}
