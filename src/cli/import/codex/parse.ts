/** Turns the lines of a Codex thread and of its subagents into events. */
import { callOf, endOf, isInjected, usageOf } from './items.ts'
import { ownLines, type ThreadMeta } from './thread-meta.ts'
import {
  contentText,
  countOf,
  fieldsOf,
  given,
  listOf,
  textOf,
  wordOf,
  type Fields,
} from '../history/fields.ts'
import { mergedByTime, type HistoryLine } from '../history/lines.ts'
import { createRecorder, MAIN, type HistoryEvent, type Place, type Recorder } from '../history/recorder.ts'
import type { EndStatus } from '../../../contracts/activity/event.ts'

export interface ThreadFile {
  meta: ThreadMeta
  lines: Iterable<HistoryLine>
}

export interface CodexHistory {
  main: ThreadFile
  agents: readonly ThreadFile[]
  /** No line follows until this time. */
  until: number
}

interface Sourced extends HistoryLine {
  thread: ThreadParser
}

type ThreadParser = ReturnType<typeof threadParser>

export function* codexEvents({ main, agents, until }: CodexHistory): Generator<HistoryEvent> {
  const recorder = createRecorder(main.meta.forked_from)
  const streams = [
    sourced(main, mainTurns(recorder)),
    ...agents.map((file) => sourced(file, agentTurns(recorder, file.meta))),
  ]
  function* sourced({ meta, lines }: ThreadFile, turns: Turns): Generator<Sourced> {
    const thread = threadParser(recorder, turns)
    for (const line of ownLines(meta, lines)) yield { ...line, thread }
  }
  for (const { at, value, thread } of mergedByTime(streams)) {
    recorder.line(at, main.meta.cwd)
    thread.line(value)
    yield* recorder.take()
  }
  recorder.finish(until)
  yield* recorder.take()
}

/** What prompts and ends of turns mean: requests for the main agent, the work of a subagent otherwise. */
interface Turns {
  place(): Place
  prompted(text: string, turn_id: string | undefined): void
  worked(): void
  ended(
    status: EndStatus,
    details: { reason?: string | undefined; error?: string | undefined; result: string },
  ): void
}

function mainTurns(recorder: Recorder): Turns {
  let running: { text: string; turn_id: string | undefined } | null = null
  return {
    place: () => MAIN,
    prompted(text, turn_id) {
      // The same prompt is written in several forms; another one of the same turn was typed while it ran.
      const same =
        turn_id === undefined || running?.turn_id === undefined
          ? running?.text === text
          : running.turn_id === turn_id
      if (same && recorder.current.request !== null) return
      running = { text, turn_id }
      recorder.prompt(text, 'person', turn_id)
    },
    worked: () => recorder.works(),
    ended(status, { reason, error }) {
      recorder.endRequest(status, { reason, error })
      running = null
    },
  }
}

function agentTurns(recorder: Recorder, { id, role }: ThreadMeta): Turns {
  let turn: number | null = null
  const place = (): Place => ({ agent: id, turn: (turn ??= recorder.current.turn) })
  let is_started = false
  return {
    place,
    prompted(text) {
      if (!is_started) recorder.subtaskStarted(id, { type: role, description: text }, place())
      is_started = true
    },
    worked() {},
    ended: (status, { result }) => recorder.subtaskEnded(id, status, result, place()),
  }
}

/** Usage of model requests: newer versions write a record for each, older ones only sums. */
function usageParser(recorder: Recorder, turns: Turns) {
  const about: { model: string | undefined; context_window: number | undefined } = {
    model: undefined,
    context_window: undefined,
  }
  let has_records = false

  function add(id: string | undefined, figures: Fields): void {
    const data = usageOf(figures)
    if (id === undefined || data === null) return
    const place = turns.place()
    // Subagents have contexts of their own.
    const { model, context_window } = about
    const context =
      place.agent === null ? { context_tokens: countOf(figures['input_tokens']), context_window } : {}
    recorder.usage(id, given({ ...data, model, ...context }), place)
  }

  return {
    noteModel: (model: unknown) => void (about.model = wordOf(model) ?? about.model),
    noteWindow: (tokens: unknown) => void (about.context_window = countOf(tokens) ?? about.context_window),
    record(payload: Fields): void {
      has_records = true
      add(textOf(payload['response_id']), fieldsOf(payload['usage']))
    },
    sum(payload: Fields): void {
      const info = fieldsOf(payload['info'])
      about.context_window = countOf(info['model_context_window']) ?? about.context_window
      const total = countOf(fieldsOf(info['total_token_usage'])['total_tokens'])
      // The sum grows with each model request, so it identifies the request; the line may be repeated.
      if (!has_records && total !== undefined && total > 0)
        add(`total-${total}`, fieldsOf(info['last_token_usage']))
    },
  }
}

function threadParser(recorder: Recorder, turns: Turns) {
  const usage = usageParser(recorder, turns)
  let turn_id: string | undefined
  let error: string | undefined

  function message(payload: Fields): void {
    switch (payload['type']) {
      case 'task_started':
      case 'turn_started':
        turn_id = textOf(payload['turn_id'])
        usage.noteWindow(payload['model_context_window'])
        error = undefined
        return
      case 'user_message':
        return prompted(textOf(payload['message']))
      case 'token_count':
        return usage.sum(payload)
      case 'error':
        error = textOf(payload['message']) ?? 'error'
        return
      case 'task_complete':
      case 'turn_complete': {
        const result = textOf(payload['last_agent_message']) ?? ''
        return turns.ended(error === undefined ? 'completed' : 'failed', { result, error })
      }
      case 'turn_aborted':
        return turns.ended('interrupted', { reason: textOf(payload['reason']), result: '' })
      case 'item_completed': {
        const item = fieldsOf(payload['item'])
        if (item['type'] === 'UserMessage') return prompted(contentText(item['content']))
        return finished(item)
      }
      default:
        finished(payload)
    }
  }

  const prompted = (text: string | undefined) => {
    if (text !== undefined && text !== '') turns.prompted(text, turn_id)
  }

  function finished(item: Fields): void {
    const end = endOf(item)
    if (end !== null) recorder.actionEnded(end.id, end, turns.place())
  }

  function item(payload: Fields): void {
    if (payload['type'] === 'message') {
      const text = contentText(payload['content'])
      if (payload['role'] === 'user' && !isInjected(text, listOf(payload['content']))) prompted(text)
      if (payload['role'] === 'assistant') turns.worked()
      return
    }
    const call = callOf(payload)
    if (call !== null) recorder.actionStarted(call.id, call.tool, call.input, turns.place())
    finished(payload)
  }

  return {
    line({ type, payload: given_payload }: Fields): void {
      const payload = fieldsOf(given_payload)
      if (type === 'turn_context') {
        turn_id = textOf(payload['turn_id']) ?? turn_id
        usage.noteModel(payload['model'])
      } else if (type === 'event_msg') message(payload)
      else if (type === 'response_item') item(payload)
      else if (type === 'token_usage_record') usage.record(payload)
      else if (type === 'compacted' && turns.place().agent === null) recorder.compacted(undefined, {})
    },
  }
}
