/** Messages of Codex's app-server, shortened from recorded ones of version 0.171. */

export const THREAD = '01a231b3-c632-7600-8227-d4c138fa58ec'
/** A subagent's thread. */
export const CHILD = '01a231b3-cd14-78d3-bf3f-fb5f9a88c6e5'
/** Ids of turns are UUIDv7. */
export const turnId = (n: number) => `01a231b3-000${n}-7000-8000-000000000000`
/** Time of the `n`th second. */
export const second = (n: number) => 1_796_130_196_000 + n * 1000
export const iso = (n: number) => new Date(second(n)).toISOString()

export function thread(more: object = {}) {
  const status = { type: 'idle' }
  const facts = { ephemeral: false, threadSource: 'user', parentThreadId: null, source: 'vscode', status }
  return { id: THREAD, cwd: '/projects/a', model: 'scripted', preview: '', ...facts, ...more }
}

export function turn(n: number, more: object = {}) {
  const times = { startedAt: second(n) / 1000, completedAt: null, durationMs: null }
  return {
    id: turnId(n),
    items: [],
    itemsView: 'notLoaded',
    status: 'inProgress',
    error: null,
    ...times,
    ...more,
  }
}

export function turnStarted(n: number, threadId = THREAD) {
  return { method: 'turn/started', params: { threadId, turn: turn(n) }, emittedAtMs: second(n) }
}

export function turnCompleted(n: number, more: object = {}, threadId = THREAD) {
  const ended = turn(n, { status: 'completed', completedAt: second(n) / 1000 + 1, ...more })
  return { method: 'turn/completed', params: { threadId, turn: ended }, emittedAtMs: second(n) + 900 }
}

/** An item of the `n`th turn begins. */
export function itemStarted(n: number, item: object, threadId = THREAD) {
  const startedAtMs = second(n) + 100
  const times = { startedAtMs, completedAtMs: null }
  const params = { item: { ...item, ...times }, threadId, turnId: turnId(n), startedAtMs }
  return { method: 'item/started', params, emittedAtMs: startedAtMs + 2 }
}

export function itemCompleted(n: number, item: object, threadId = THREAD) {
  const times = { startedAtMs: second(n) + 100, completedAtMs: second(n) + 300 }
  const params = { item: { ...item, ...times }, threadId, turnId: turnId(n), completedAtMs: second(n) + 300 }
  return { method: 'item/completed', params, emittedAtMs: second(n) + 302 }
}

export function userMessage(text: string, clientId: string | null = null) {
  const content = [{ type: 'text', text, text_elements: [] }]
  return { type: 'userMessage', id: `message of ${text}`, clientId, content }
}

export function command(id: string, text: string, more: object = {}) {
  return {
    ...{ type: 'commandExecution', id, command: `/bin/bash -lc '${text}'`, cwd: '/projects/a' },
    ...{ processId: '47129', source: 'unifiedExecStartup', status: 'inProgress', aggregatedOutput: null },
    ...{ commandActions: [{ type: 'unknown', command: text }], exitCode: null, durationMs: null, ...more },
  }
}

export function tokens(n: number, total: number, last: number, threadId = THREAD) {
  const figures = (requests: number) => ({
    ...{ totalTokens: 120 * requests, inputTokens: 100 * requests, cachedInputTokens: 40 * requests },
    ...{ cacheWriteInputTokens: 0, outputTokens: 20 * requests, reasoningOutputTokens: 0 },
  })
  const tokenUsage = { total: figures(total), last: figures(last), modelContextWindow: 258_400 }
  const params = { threadId, turnId: turnId(n), tokenUsage }
  return { method: 'thread/tokenUsage/updated', params, emittedAtMs: second(n) + 400 }
}

/** The app-server asks whether a call may run. */
export function approval(n: number, itemId: string, id = 0, kind = 'commandExecution') {
  const params = {
    threadId: THREAD,
    turnId: turnId(n),
    itemId,
    startedAtMs: second(n) + 120,
    reason: 'may I',
  }
  return { id, method: `item/${kind}/requestApproval`, params }
}

export function resolved(n: number, requestId = 0) {
  const params = { threadId: THREAD, requestId }
  return { method: 'serverRequest/resolved', params, emittedAtMs: second(n) + 200 }
}
