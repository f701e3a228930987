/**
 * The thread of a persona without a window: begun by the shim itself, and gone on with by every later one, so
 * that the agent remembers what it was told.
 */
import { AppServerError, INVALID_REQUEST, type AppServer } from './app-server.ts'
import { ThreadAnswer } from './protocol.ts'
import { LIMITS } from '../../src/contracts/limits.ts'
import type { Log } from '../../src/ports/log.ts'

export interface ThreadMemory {
  keptThread(): string | null
  keepThread(thread_id: string): void
  /** Something was said in this thread: it can be gone on with. */
  spokenIn(thread_id: string): void
}

/** Loads the kept thread into this app-server, or begins one there; subscribes to it either way. */
export async function ensureThread(
  server: AppServer,
  { memory, directory, log }: { memory: ThreadMemory; directory: string; log: Log },
): Promise<void> {
  const kept = memory.keptThread()
  if (kept !== null && (await resumes(server, kept, { memory, log }))) return
  // As a person's own: that is what it is to whoever joins.
  const begin = { cwd: directory, threadSource: 'user' }
  const { thread } = await server.call('thread/start', begin, ThreadAnswer, LIMITS.codex_start_ms)
  log.info({ thread_id: thread.id, directory }, 'began a thread')
  memory.keepThread(thread.id)
}

async function resumes(
  server: AppServer,
  threadId: string,
  { memory, log }: { memory: ThreadMemory; log: Log },
): Promise<boolean> {
  try {
    await server.call('thread/resume', { threadId, excludeTurns: true }, ThreadAnswer)
    memory.spokenIn(threadId)
    return true
  } catch (error) {
    const refused = error instanceof AppServerError && error.code === INVALID_REQUEST
    // One that cannot answer now, or that another process works in, is there: a second thread would be a second agent.
    if (!refused || /active writer/.test(error.message)) throw error
    log.info({ err: error, thread_id: threadId }, 'the kept thread is gone; another is begun')
    return false
  }
}
