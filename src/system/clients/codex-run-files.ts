/**
 * Files in a persona's run directory through which the shim, the bridge, the hooks and `turnbell run` share the state
 * of its Codex threads.
 *
 * The app-server of an unmanaged `codex` serves all personas of the user, so its environment does not identify a
 * thread's persona. The tool calls and hooks of the thread do, and they report it here.
 */
import fs from 'node:fs'
import path from 'node:path'
import * as z from 'zod'
import { readText, watchFile } from '../files/watch-file.ts'
import { ThreadEvent, ThreadNews, type ClientProcess } from '../../contracts/clients/codex.ts'
import { bellInText } from '../../contracts/doorbell.ts'
import { SessionId } from '../../contracts/ids.ts'
import { parseJsonAs } from '../../contracts/validation/json.ts'
import { LIMITS } from '../../contracts/limits/limits.ts'
import { writeFileAtomic } from '../files/atomic-write.ts'

/** Payload of a Codex hook; a thread is its session. */
const HookPayload = z.object({
  hook_event_name: ThreadEvent,
  session_id: SessionId,
  prompt: z.string().optional(),
})

/** Returns null for a hook that is not about a thread's turns. The user's text is not included. */
export function hookReport(
  payload: unknown,
  at: string,
  client: ClientProcess | null = null,
): ThreadNews | null {
  const hook = HookPayload.safeParse(payload)
  if (!hook.success) return null
  const { hook_event_name: event, session_id: thread_id, prompt = '' } = hook.data
  const bell = bellInText(prompt)
  return { thread_id, event, at, ...(bell === null ? {} : { bell }), ...(client === null ? {} : { client }) }
}

const StoredThread = z.object({ thread_id: SessionId, spoken: z.boolean().default(false) })

export interface CodexRunFiles {
  tell(news: ThreadNews): void
  /** Calls with all stored reports, if any, and then with new ones. Closing the handle stops it. */
  follow(onNews: (news: ThreadNews[]) => void): { close(): void }
  /** Thread of a headless persona. */
  keptThread(): SessionId | null
  keepThread(thread_id: SessionId): void
  /** Records the first message in this thread; the stored thread can be joined after it. */
  markUsed(thread_id: SessionId): void
  /** The stored thread after its first message. Before, Codex cannot resume the id. */
  joinableThread(): SessionId | null
}

export function codexRunFiles(run_dir: string): CodexRunFiles {
  const news_file = path.join(run_dir, 'codex-threads.jsonl')
  const kept_file = path.join(run_dir, 'codex-thread.json')
  const storedThread = () => parseJsonAs(StoredThread, readText(kept_file))
  const keep = (thread: z.infer<typeof StoredThread>) => writeFileAtomic(kept_file, JSON.stringify(thread))
  return {
    tell(news) {
      truncateReports(news_file)
      // A single write, so that concurrent appends do not interleave.
      fs.appendFileSync(news_file, `${JSON.stringify(news)}\n`, { mode: 0o600 })
    },
    follow(onNews) {
      let delivered = new Set<string>()
      return watchFile(news_file, (text) => {
        // An incomplete last line is read the next time.
        const whole = (text ?? '').slice(0, (text ?? '').lastIndexOf('\n') + 1)
        const lines = whole.split('\n')
        const news = lines.filter((line) => !delivered.has(line)).flatMap(parseReports)
        delivered = new Set(lines)
        if (news.length > 0) onNews(news)
      })
    },
    keptThread: () => storedThread()?.thread_id ?? null,
    keepThread: (thread_id) => keep({ thread_id, spoken: false }),
    markUsed(thread_id) {
      const now = storedThread()
      if (now?.thread_id === thread_id && !now.spoken) keep({ thread_id, spoken: true })
    },
    joinableThread() {
      const now = storedThread()
      return now?.spoken === true ? now.thread_id : null
    },
  }
}

/** Keeps only the newest reports. A concurrently written line may be lost; later reports replace it. */
function truncateReports(file: string): void {
  const size = fs.statSync(file, { throwIfNoEntry: false })?.size ?? 0
  if (size < LIMITS.codex_thread_file_bytes_max) return
  const lines = (readText(file) ?? '').split('\n')
  writeFileAtomic(file, lines.slice(Math.floor(lines.length / 2)).join('\n'))
}

function parseReports(line: string): ThreadNews[] {
  const news = parseJsonAs(ThreadNews, line)
  return news === null ? [] : [news]
}
