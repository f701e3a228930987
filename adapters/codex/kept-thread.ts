/**
 * The thread of a headless persona: started by the shim and resumed by every later one, so that the agent keeps its
 * conversation.
 */
import { AppServerError, INVALID_REQUEST, type AppServer } from './app-server.ts'
import { ThreadAnswer } from './protocol.ts'
import { LIMITS } from '../../src/contracts/limits/limits.ts'
import type { Log } from '../../src/ports/log.ts'

export interface ThreadStore {
  keptThread(): string | null
  keepThread(thread_id: string): void
  /** Records that the thread has a message, so it can be resumed. */
  spokenIn(thread_id: string): void
}

/** Loads the kept thread into this app-server or starts a new one, and subscribes to it. */
export async function ensureThread(
  server: AppServer,
  { store, directory, log }: { store: ThreadStore; directory: string; log: Log },
): Promise<void> {
  const kept = store.keptThread()
  if (kept !== null && (await resumeKept(server, kept, { memory: store, log }))) return
  // `user`, because a person who joins sees it as a thread of their own.
  const params = { cwd: directory, threadSource: 'user' }
  const { thread } = await server.call('thread/start', params, ThreadAnswer, LIMITS.codex_start_ms)
  log.info({ thread_id: thread.id, directory }, 'thread started')
  store.keepThread(thread.id)
}

async function resumeKept(
  server: AppServer,
  threadId: string,
  { memory, log }: { memory: ThreadStore; log: Log },
): Promise<boolean> {
  try {
    await server.call('thread/resume', { threadId, excludeTurns: true }, ThreadAnswer)
    memory.spokenIn(threadId)
    return true
  } catch (error) {
    const refused = error instanceof AppServerError && error.code === INVALID_REQUEST
    // The thread exists if the server cannot answer now or another process writes to it. A second one would be a second agent.
    if (!refused || /active writer/.test(error.message)) throw error
    log.info({ err: error, thread_id: threadId }, 'kept thread no longer exists; starting another')
    return false
  }
}
