/** Decides what of an event is stored, by the settings of capture. */
import type { ActivityEvent } from '../../contracts/activity/event.ts'
import type { ToolType } from '../../contracts/activity/views.ts'
import type { DenyGlobs } from './deny-globs.ts'
import { commandWords, effectiveName, filePaths, toolType } from './tool-names.ts'

/** An event as it may be stored. */
export interface FilteredEvent {
  event: ActivityEvent
  /** Of an `action.started`: what its input showed before it was removed. */
  call: Call | null
  /** Whether a glob matches the call. */
  denied: boolean
}
export interface Call {
  name: string
  type: ToolType
  paths: readonly string[]
}

export interface FilterSettings {
  capture: 'full' | 'facts' | 'off'
  deny: DenyGlobs
}
/** What the filter needs to know of the session. */
export interface FilteredSession {
  project: string | null
  /** Running calls whose output may be stored; extended by the events. */
  allowed_calls: Set<string>
}

/** Fields with texts of persons, models and tools. */
const CONTENT = ['prompt', 'input', 'output', 'error', 'description', 'result', 'message'] as const

/** Removes what must not be stored. Events of one session are passed in their order. */
export function filterEvent(
  event: ActivityEvent,
  { capture, deny }: FilterSettings,
  session: FilteredSession,
): FilteredEvent {
  const call = event.kind === 'action.started' ? callOf(event) : null
  const facts = capture !== 'full'
  if (deny.isEmpty) return { event: facts ? withoutContent(event) : event, call, denied: false }
  const denied = event.kind === 'action.started' && isDenied(event, call, deny, session.project)
  if (event.kind === 'action.started' && !denied) session.allowed_calls.add(event.data.action_id)
  const isEnd = event.kind === 'action.ended' || event.kind === 'action.failed'
  // The end of a call does not contain its input. Without its beginning, its content is not known to be allowed.
  const hidden = denied || (isEnd && !session.allowed_calls.has(event.data.action_id))
  return {
    event: facts || hidden ? withoutContent(event) : event,
    call: denied && call !== null ? { ...call, paths: [] } : call,
    denied,
  }
}

function withoutContent(event: ActivityEvent): ActivityEvent {
  const data: Record<string, unknown> = { ...event.data }
  for (const field of CONTENT) delete data[field]
  // The text of a question or a plan; of other waits it is the name of a tool or a peer.
  if (event.kind === 'waiting.started' && (event.data.for === 'question' || event.data.for === 'plan'))
    delete data.what
  return { ...event, data } as ActivityEvent
}

function callOf(event: ActivityEvent & { kind: 'action.started' }): Call {
  const { tool, input } = event.data
  const type = toolType(tool, event.client)
  return { name: effectiveName(tool, type, input), type, paths: filePaths(input) }
}

function isDenied(
  event: ActivityEvent & { kind: 'action.started' },
  call: Call | null,
  deny: DenyGlobs,
  project: string | null,
): boolean {
  const { tool, input } = event.data
  if (deny.deniesTool(tool) || (call !== null && deny.deniesTool(call.name))) return true
  const paths = [...(call?.paths ?? []), ...commandWords(input)]
  return paths.some(
    (path) => deny.deniesPath(path) || (project !== null && deny.deniesPath(inProject(project, path))),
  )
}

/** Resolves a relative path, with `..`. */
function inProject(project: string, path: string): string {
  if (/^(?:\/|[A-Za-z]:[\\/])/.test(path)) return path
  const parts: string[] = []
  for (const part of `${project}/${path}`.split(/[\\/]/)) {
    if (part === '..') parts.pop()
    else if (part !== '.') parts.push(part)
  }
  return parts.join('/')
}
