/**
 * Turns the lines of Claude Code's history into events. A line is one message or one block of it; an answer of the model is
 * written in several lines, each with the usage so far.
 */
import { isInterrupt, promptOf, resultsOf, usageOf } from './messages.ts'
import {
  argumentsOf,
  contentText,
  fieldsOf,
  listOf,
  textOf,
  wordOf,
  countOf,
  given,
  type Fields,
} from '../history/fields.ts'
import { mergedByTime, type HistoryLine } from '../history/lines.ts'
import { createRecorder, MAIN, type HistoryEvent, type Place, type Recorder } from '../history/recorder.ts'
import type { EndStatus } from '../../../contracts/activity/event.ts'

export interface SubagentFile {
  id: string
  type: string | undefined
  description: string | undefined
  /** The call that started it. */
  tool_use_id: string | undefined
  lines: Iterable<HistoryLine>
}

export interface ClaudeHistory {
  session_id: string
  main: Iterable<HistoryLine>
  agents: readonly SubagentFile[]
  /** No line follows until this time. */
  until: number
}

/** A line and the file it is from. */
interface Sourced extends HistoryLine {
  agent: SubagentFile | null
}

interface Subagent {
  id: string
  place: Place
  running: boolean
}

export function* claudeEvents({ session_id, main, agents, until }: ClaudeHistory): Generator<HistoryEvent> {
  const recorder = createRecorder()
  const session = sessionParser(recorder)
  const streams = [sourced(main, null), ...agents.map((agent) => sourced(agent.lines, agent))]
  for (const line of mergedByTime(streams)) {
    // A fork begins with a copy of the other session's messages.
    const is_copied =
      line.value['forkedFrom'] != null || (textOf(line.value['sessionId']) ?? session_id) !== session_id
    if (is_copied) continue
    session.line(line)
    yield* recorder.take()
  }
  recorder.finish(until)
  yield* recorder.take()
}

function* sourced(lines: Iterable<HistoryLine>, agent: SubagentFile | null): Generator<Sourced> {
  for (const line of lines) yield { ...line, agent }
}

function sessionParser(recorder: Recorder) {
  const subagents = subagentsOf(recorder)
  /** A slash command that starts a turn only if the model answers. */
  let command: { prompt: string; id: string | undefined } | null = null

  function assistant(value: Fields, agent: Subagent | null): void {
    const message = fieldsOf(value['message'])
    if (agent === null && command !== null) recorder.prompt(command.prompt, 'person', command.id)
    if (agent === null) command = null
    const place = agent?.place ?? MAIN
    const id = textOf(value['requestId']) ?? textOf(message['id'])
    const usage = usageOf(message, agent === null)
    if (id !== undefined && usage !== null) recorder.usage(id, usage, place)
    const blocks = listOf(message['content'])
    const calls = blocks.filter((block) => block['type'] === 'tool_use' && textOf(block['id']) !== undefined)
    if (agent === null) recorder.works()
    for (const block of calls) {
      const call_id = textOf(block['id']) ?? ''
      recorder.actionStarted(call_id, textOf(block['name']) ?? 'unknown', argumentsOf(block['input']), place)
      subagents.called(call_id)
    }
    const text = contentText(message['content'])
    if (value['isApiErrorMessage'] === true) ended(agent, 'failed', text)
    else if (calls.length === 0 && ENDS.has(String(message['stop_reason']))) ended(agent, 'completed', text)
  }

  function ended(agent: Subagent | null, status: EndStatus, text: string): void {
    if (agent !== null) subagents.ended(agent, status, text)
    else recorder.answered(status, status === 'failed' ? text : '')
  }

  function user(value: Fields, agent: Subagent | null): void {
    const message = fieldsOf(value['message'])
    for (const result of resultsOf(value, message)) {
      recorder.actionEnded(result.id, result, agent?.place ?? MAIN)
      if (agent === null && result.subagent !== undefined) subagents.returned(result.subagent)
    }
    const text = contentText(message['content'])
    if (isInterrupt(text)) {
      if (agent === null) recorder.endRequest('interrupted')
      else subagents.ended(agent, 'interrupted', '')
      return
    }
    if (agent !== null || value['isMeta'] === true || value['isCompactSummary'] === true) return
    const prompt = promptOf(value, text)
    const id = wordOf(value['promptId']) ?? wordOf(value['uuid'])
    if (prompt === null) return
    command = prompt.type === 'command' ? { prompt: prompt.text, id } : null
    if (command === null) recorder.prompt(prompt.text, prompt.type, id)
  }

  function system(value: Fields): void {
    if (value['subtype'] === 'turn_duration') recorder.settle('completed')
    if (value['subtype'] !== 'compact_boundary') return
    const { trigger, preTokens, postTokens } = fieldsOf(value['compactMetadata'])
    const sizes = { tokens_before: countOf(preTokens) ?? 0, tokens_after: countOf(postTokens) }
    recorder.compacted(textOf(trigger), given(sizes))
  }

  return {
    line({ at, value, agent: file }: Sourced): void {
      const { type } = value
      if (type !== 'user' && type !== 'assistant' && type !== 'system') return
      recorder.line(at, textOf(value['cwd']))
      const agent = subagents.of(file, value)
      if (type === 'assistant') assistant(value, agent)
      else if (type === 'user') user(value, agent)
      else if (agent === null) system(value)
    },
  }
}

/** Reasons to stop that end the turn. */
const ENDS: ReadonlySet<string> = new Set(['end_turn', 'stop_sequence', 'max_tokens', 'refusal'])

/** The subagents of a session, each in the turn of the call that started it. */
function subagentsOf(recorder: Recorder) {
  const known = new Map<string, Subagent>()
  const calls = new Map<string, number>()

  return {
    called: (tool_use_id: string) => void calls.set(tool_use_id, recorder.current.turn),

    /** Returns the subagent of a line, null for the main agent. */
    of(file: SubagentFile | null, value: Fields): Subagent | null {
      // Older versions wrote the lines of subagents between those of the main agent.
      if (file === null && value['isSidechain'] !== true) return null
      const id = file?.id ?? wordOf(value['agentId']) ?? 'sidechain'
      const before = known.get(id)
      if (before !== undefined) return before
      const turn = calls.get(file?.tool_use_id ?? '') ?? recorder.current.turn
      const agent: Subagent = { id, place: { agent: id.slice(0, 256), turn }, running: true }
      known.set(id, agent)
      const prompt = contentText(fieldsOf(value['message'])['content'])
      recorder.subtaskStarted(id, { type: file?.type, description: file?.description ?? prompt }, agent.place)
      return agent
    },
    ended(agent: Subagent, status: EndStatus, result: string): void {
      agent.running = false
      recorder.subtaskEnded(agent.id, status, result, agent.place)
    },
    /** The call that waited for the subagent has returned. */
    returned(id: string): void {
      const agent = known.get(id)
      if (agent?.running === true) this.ended(agent, 'completed', '')
    },
  }
}
