/**
 * The parts of the client's interface that the module uses, as observed with versions 2.1.329 and 2.1.332. The client
 * calls `register(on)` of the module; every hook gets the interface `$`, the event, and `next`, which runs the other
 * modules' hooks and then the client's own code.
 */
import type { Timer } from '../../../src/ports/clock.ts'

export interface Engine {
  session: {
    id(): Promise<string>
    version(): Promise<{ version: string }>
    /** With `api`, the messages as they are sent to the model, at most the newest 4096. */
    messages(as: { as: 'api' }): Promise<readonly object[]>
  }
  env: { get(name: string): Promise<string | undefined> }
  /** `hookEnv` returns the variables of a command hook, such as CLAUDE_PID. */
  process: { hookEnv(): Promise<Readonly<Record<string, string>>> }
  fs: { read(path: string): Promise<string> }
  /** Rejects if the host is not reached. */
  http: { fetch(url: string, init: EngineRequest): Promise<EngineResponse> }
  clock: { after(delay_ms: number, call: () => void): Timer }
  /** Resolves when a turn began with the text, or with the reason why not. */
  prompt: { submit(prompt: { text: string }): Promise<SubmitResult> }
  ui: {
    /** The plugin's line under the prompt; undefined removes it. */
    status(text: string | undefined): void
    toast(text: string): void
    /** Opens a pane, or retitles it. Without room it waits undrawn. Rejects if another plugin has the id. */
    open(pane: { id: string; title: string; columns: number }): Promise<unknown>
    /** The client asks the hooks of this event again. */
    invalidate(event: 'ui.render'): void
    /** Elements of the surface that the event draws on. */
    resolve(e: UiRender): Elements
  }
}

/** Element of a drawing. */
export type DrawnElement = object
type Element = (props: {
  children: readonly (DrawnElement | string)[]
  [property: string]: unknown
}) => DrawnElement
export interface Elements {
  Box: Element
  Text: Element
}

export interface EngineRequest {
  method: 'POST'
  headers: Record<string, string>
  body: string
  /** Path of a Unix socket that is used in place of the host of the URL. */
  socketPath: string
}

export interface EngineResponse {
  status: number
  text: string
}

export interface SubmitResult {
  /** The client's words; absent if a turn began. */
  drop?: string | undefined
}

/** Absent for the main agent. */
interface OfAgent {
  agentId?: string | undefined
}

export interface SessionStart {
  isInteractive: boolean
  cwd?: string | undefined
}
export interface SessionEnd {
  reason: string
}
export interface PromptSubmit {
  origin: { kind: string }
  /** The running turn into which it was typed. */
  turnId?: string | undefined
}
export interface TurnStart extends OfAgent {
  turnId: string
  /** The prompt as the model gets it. */
  text?: string | undefined
}
export interface TurnComplete extends OfAgent {
  turnId: string
  reason: string
  usage?: object | undefined
}
/** With the fields of the tool's input. */
export interface ToolCall extends OfAgent {
  tool: string
  tool_use_id: string
}
export interface ToolResult {
  isError?: boolean | undefined
  deny?: string | undefined
  /** The output or the error, as the model gets it. */
  text?: string | undefined
}
export interface ToolDecision {
  decision: string
  reason?: string | undefined
}
export interface AgentSpawn {
  parentAgentId?: string | undefined
  subagentType?: string | undefined
  description?: string | undefined
}
export interface AgentReport {
  agentId: string
  status?: string | undefined
  /** Its last answer. */
  text?: string | undefined
}
export interface SessionMeasure {
  context?: { tokens?: number | undefined; window?: number | undefined } | undefined
  cost?: { usd?: number | undefined } | undefined
}
export interface SessionCompact extends OfAgent {
  trigger: string
}
export interface CompactResult {
  /** The reason why nothing was compacted. */
  skip?: string | undefined
  tokensBefore?: number | undefined
  tokensAfter?: number | undefined
}

/** A component of the client is drawn. */
export interface UiRender {
  component: string
}

/** Event and result by the name of the event. Results that are only passed through are unknown. */
interface Events {
  'session.start': [SessionStart, unknown]
  'session.end': [SessionEnd, unknown]
  'session.stop': [object, unknown]
  'session.measure': [SessionMeasure, unknown]
  'session.compact': [SessionCompact, CompactResult]
  'prompt.submit': [PromptSubmit, unknown]
  'turn.start': [TurnStart, unknown]
  'turn.complete': [TurnComplete, unknown]
  'tool.call': [ToolCall, ToolResult]
  'tool.check': [ToolCall, ToolDecision]
  'tool.run': [ToolCall, unknown]
  'agent.spawn': [AgentSpawn, { agentId?: string | undefined }]
  'agent.report': [AgentReport, unknown]
}

export type Next<Event, Result> = (e: Event) => Promise<Result>
type Hook<Event, Result> = ($: Engine, e: Event, next: Next<Event, Result>) => Promise<Result>
export interface On {
  <Name extends keyof Events>(event: Name, hook: Hook<Events[Name][0], Events[Name][1]>): void
  /** Only for a component, and one of its instances. */
  (
    event: 'ui.render',
    only: { component: 'AbovePrompt' | 'Pane'; requestId?: string },
    hook: Hook<UiRender, unknown>,
  ): void
}
