/** A fake Codex app-server with one thread; the test controls the user and the turns. */
import type { z } from 'zod'
import { AppServerError, OVERLOADED, type AppServer } from '../../../adapters/codex/app-server.ts'
import type { Notification, Thread } from '../../../adapters/codex/protocol.ts'
import { LIMITS } from '../../../src/contracts/limits/limits.ts'
import type { PlaceMode } from '../../suites/surface.suite.ts'
import type { FakeClock } from './fake-clock.ts'

export const thread = (id: string, change: Partial<Thread> = {}): Thread => ({
  ...{ id, ephemeral: false, threadSource: 'user', parentThreadId: null, status: { type: 'idle' } },
  ...change,
})

interface Queued {
  id: string
  clientUserMessageId: string
  text: string
}

export function fakeAppServer(clock: FakeClock, loaded: Thread[] = [thread('thread-1')]) {
  let turns = 0
  let items = 0
  const world = {
    loaded,
    /** Threads of another process: known, not loaded. */
    stored: [] as Thread[],
    mode: 'takes' as PlaceMode | 'too old',
    /** Messages in the thread's queue. */
    queue: [] as Queued[],
    /** Messages that Codex took from the queue, to be shown in the next turn. */
    taken: [] as Queued[],
    /** The thread's own history. */
    said: [] as { type: string; clientId: string }[],
    /** Texts that the model was shown. */
    shown: [] as string[],
    calls: [] as string[],
    /** Codex takes queued messages at once, unless the user has paused the queue. */
    paused: false,
    /** Whether a thread without a turn can be subscribed to. */
    resumable: true,
    /** `late` tools start when the test calls the function in `starting` for their thread. */
    tools: 'at once' as 'at once' | 'late' | 'never' | 'overloaded',
    starting: new Map<unknown, () => void>(),

    server: {
      user_agent: 'turnbell/0.169.0 (test)',
      async call<T>(
        method: string,
        params: object,
        answer: z.ZodType<T>,
        patience_ms: number = LIMITS.codex_answer_ms,
      ): Promise<T> {
        world.calls.push(method)
        return answer.parse(await respond(method, params as Record<string, unknown>, patience_ms))
      },
      close() {},
    } satisfies AppServer,

    begins(threadId = 'thread-1'): Notification[] {
      turns += 1
      const taken = world.taken.splice(0)
      world.said.push(
        ...taken.map(({ clientUserMessageId: clientId }) => ({ type: 'userMessage', clientId })),
      )
      const messages = taken.map((queued) => ({
        method: 'item/started' as const,
        params: { threadId, item: { type: 'userMessage', clientId: queued.clientUserMessageId } },
      }))
      return [
        { method: 'thread/status/changed', params: { threadId, status: { type: 'active' } } },
        {
          method: 'turn/started',
          params: { threadId, turn: { id: `turn-${turns}`, status: 'inProgress' } },
        },
        ...messages,
      ]
    },
    ends(
      status: 'completed' | 'interrupted' | 'failed' = 'completed',
      threadId = 'thread-1',
    ): Notification[] {
      world.paused = status === 'interrupted'
      return [
        { method: 'thread/status/changed', params: { threadId, status: { type: 'idle' } } },
        { method: 'turn/completed', params: { threadId, turn: { id: `turn-${turns}`, status } } },
      ]
    },
    drains(threadId = 'thread-1'): Notification {
      const item = { type: 'mcpToolCall', tool: 'signals_pending', status: 'completed' }
      return { method: 'item/completed', params: { threadId, item } }
    },
  }

  const textIn = (params: Record<string, unknown>) => (params['input'] as [{ text: string }])[0].text

  function known(threadId: unknown): Thread {
    const found = [...world.loaded, ...world.stored].find(({ id }) => id === threadId)
    if (found === undefined) throw new AppServerError(-32_600, `thread not loaded: ${String(threadId)}`)
    return found
  }

  async function respond(
    method: string,
    params: Record<string, unknown>,
    patience_ms: number,
  ): Promise<unknown> {
    switch (method) {
      case 'thread/loaded/list':
        return { data: world.loaded.map(({ id }) => id) }
      case 'thread/read':
        return { thread: { ...known(params['threadId']), turns: [{ items: world.said }] } }
      case 'turn/start':
        world.shown.push(textIn(params))
        world.taken.push({
          ...{ id: 'turn', text: textIn(params) },
          clientUserMessageId: String(params['clientUserMessageId']),
        })
        return {}
      case 'thread/resume':
        if (!world.resumable) throw new AppServerError(-32_600, 'no rollout found for this thread')
        return { thread: world.loaded.find(({ id }) => id === params['threadId']) }
      case 'mcpServerStatus/list':
        return await startTools(params['threadId'], patience_ms)
      case 'thread/queue/list':
        if (world.mode === 'too old') throw new AppServerError(-32_601, 'unknown method')
        return { data: world.queue }
      case 'thread/queue/delete':
        world.queue = world.queue.filter(({ id }) => id !== params['queuedSubmissionId'])
        return { deleted: true }
      case 'thread/queue/add':
        return await add(params)
      case 'thread/queue/start':
        return start()
      default:
        throw new AppServerError(-32_601, `unknown method ${method}`)
    }
  }

  async function startTools(threadId: unknown, patience_ms: number): Promise<object> {
    if (world.tools === 'overloaded') throw new AppServerError(OVERLOADED, 'overloaded')
    if (world.tools !== 'at once')
      await new Promise<void>((resolve, reject) => {
        if (world.tools === 'late') world.starting.set(threadId, resolve)
        clock.after(patience_ms, () => reject(new AppServerError(null, 'the call timed out')))
      })
    return { data: [] }
  }

  function start(): object {
    const [next] = world.queue.splice(0, 1)
    if (next === undefined) throw new AppServerError(-32_600, 'queue is empty')
    world.paused = false
    world.shown.push(next.text)
    world.taken.push(next)
    return {}
  }

  async function add(params: Record<string, unknown>): Promise<unknown> {
    if (world.mode === 'breaks') throw new AppServerError(-32_600, 'the queue broke')
    if (world.mode === 'delays') await new Promise<void>((resolve) => clock.after(1_500, resolve))
    items += 1
    const clientUserMessageId = String(params['clientUserMessageId'])
    const queued = { id: `item-${items}`, clientUserMessageId, text: textIn(params) }
    if (world.mode === 'swallows') return {}
    if (world.paused) world.queue.push(queued)
    else {
      world.shown.push(queued.text)
      world.taken.push(...(world.mode === 'duplicates' ? [queued, queued] : [queued]))
    }
    return { queuedSubmission: queued }
  }

  return world
}
