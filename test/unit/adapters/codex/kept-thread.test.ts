import { beforeEach, expect, test } from 'vitest'
import type { z } from 'zod'
import { AppServerError, type AppServer } from '../../../../adapters/codex/app-server.ts'
import { ensureThread } from '../../../../adapters/codex/kept-thread.ts'
import { LIMITS } from '../../../../src/contracts/limits/limits.ts'
import { silentLog } from '../../../../src/ports/log.ts'
import { thread } from '../../../support/fakes/fake-app-server.ts'

let kept: string | null
let spoken: string[]
let calls: [string, object][]
let patience: Record<string, number | undefined>
const memory = {
  keptThread: () => kept,
  keepThread: (thread_id: string) => void (kept = thread_id),
  spokenIn: (thread_id: string) => void spoken.push(thread_id),
}
beforeEach(() => {
  kept = null
  spoken = []
  calls = []
  patience = {}
})

/** `refused` are the errors of methods that fail. */
function server(refused: Record<string, AppServerError> = {}): AppServer {
  return {
    user_agent: '',
    async call<T>(method: string, params: object, answer: z.ZodType<T>, patience_ms?: number): Promise<T> {
      calls.push([method, params])
      patience[method] = patience_ms
      if (refused[method] !== undefined) throw refused[method]
      return answer.parse({ thread: thread('begun') })
    },
    close() {},
  }
}
const ensure = (at: AppServer) => ensureThread(at, { store: memory, directory: '/project', log: silentLog })
const methods = () => calls.map(([method]) => method)

test('a thread is started in the project, and its id is stored', async () => {
  await ensure(server())
  expect(calls[0]).toEqual(['thread/start', { cwd: '/project', threadSource: 'user' }])
  expect(kept).toBe('begun')
  expect(spoken).toEqual([])
})

test('starting a thread has a longer timeout, because an aborted start would leave an unused thread', async () => {
  await ensure(server())
  expect(patience['thread/start']).toBe(LIMITS.codex_start_ms)
  expect(LIMITS.codex_start_ms).toBeGreaterThan(LIMITS.codex_answer_ms)
})

test('the stored thread is resumed', async () => {
  kept = 'earlier'
  await ensure(server())
  expect(calls[0]).toMatchObject(['thread/resume', { threadId: 'earlier' }])
  expect(methods()).not.toContain('thread/start')
  expect(kept).toBe('earlier')
  expect(spoken).toEqual(['earlier'])
})

test('a new thread is started if the stored one was never written to disk', async () => {
  kept = 'never-used'
  await ensure(server({ 'thread/resume': new AppServerError(-32_600, 'no rollout found') }))
  expect(kept).toBe('begun')
})

test.each([
  ['another process works in it', new AppServerError(-32_600, 'thread already has an active writer')],
  ['the app-server did not answer', new AppServerError(null, 'thread/resume was not answered')],
  ['the app-server is too busy', new AppServerError(-32_001, 'Server overloaded; retry later.')],
  ['the app-server broke over it', new AppServerError(-32_603, 'internal error')],
])('no second thread is started if %s', async (_why, error) => {
  kept = 'earlier'
  await expect(ensure(server({ 'thread/resume': error }))).rejects.toThrow(error.message)
  expect(methods()).toEqual(['thread/resume'])
})
