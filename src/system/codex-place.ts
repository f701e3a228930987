/**
 * What the shim, the bridge, the hooks and `turnbell run` tell each other about a persona's Codex threads:
 * files in the persona's run directory, which only its owner can enter.
 *
 * The app-server that a plain `codex` starts serves every persona of the user, so nothing in its environment
 * says for whom a thread acts. The thread's own tool calls and hooks do, and they are told here.
 */
import fs from 'node:fs'
import path from 'node:path'
import * as z from 'zod'
import { readText, watchText } from './watch-text.ts'
import { ThreadEvent, ThreadNews, type ClientProcess } from '../contracts/codex.ts'
import { bellInText } from '../contracts/doorbell.ts'
import { SessionId } from '../contracts/ids.ts'
import { jsonAs } from '../contracts/json.ts'
import { LIMITS } from '../contracts/limits.ts'
import { replaceFile } from './replace-file.ts'

/** A payload of one of Codex's hooks; a thread is its session. */
const HookPayload = z.object({
  hook_event_name: ThreadEvent,
  session_id: SessionId,
  prompt: z.string().optional(),
})

/** Null for a hook that tells nothing of a thread's turns. What a person wrote goes no further. */
export function newsOfHook(
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

const Kept = z.object({ thread_id: SessionId, spoken: z.boolean().default(false) })

export interface CodexPlace {
  tell(news: ThreadNews): void
  /** Calls with everything told so far, if anything was, and then with what is new. The handle ends it. */
  follow(onNews: (news: ThreadNews[]) => void): { close(): void }
  /** The thread that the daemon keeps for a persona without a window. */
  keptThread(): SessionId | null
  keepThread(thread_id: SessionId): void
  /** Something was said in this thread; where it is the kept one, it can be joined. */
  spokenIn(thread_id: SessionId): void
  /** The kept thread once something was said in it: before, Codex knows none of that id to go on with. */
  joinableThread(): SessionId | null
}

export function codexPlace(run_dir: string): CodexPlace {
  const news_file = path.join(run_dir, 'codex-threads.jsonl')
  const kept_file = path.join(run_dir, 'codex-thread.json')
  const kept = () => jsonAs(Kept, readText(kept_file))
  const keep = (thread: z.infer<typeof Kept>) => replaceFile(kept_file, JSON.stringify(thread))
  return {
    tell(news) {
      shorten(news_file)
      // One write of one line: two that tell at once append one after the other.
      fs.appendFileSync(news_file, `${JSON.stringify(news)}\n`, { mode: 0o600 })
    },
    follow(onNews) {
      let told = new Set<string>()
      return watchText(news_file, (text) => {
        // The end of a line that is being written comes with the next look.
        const whole = (text ?? '').slice(0, (text ?? '').lastIndexOf('\n') + 1)
        const lines = whole.split('\n')
        const news = lines.filter((line) => !told.has(line)).flatMap(newsIn)
        told = new Set(lines)
        if (news.length > 0) onNews(news)
      })
    },
    keptThread: () => kept()?.thread_id ?? null,
    keepThread: (thread_id) => keep({ thread_id, spoken: false }),
    spokenIn(thread_id) {
      const now = kept()
      if (now?.thread_id === thread_id && !now.spoken) keep({ thread_id, spoken: true })
    },
    joinableThread() {
      const now = kept()
      return now?.spoken === true ? now.thread_id : null
    },
  }
}

/** Only the newest of a long story matter. A line that comes in this very moment may be lost; the thread tells more. */
function shorten(file: string): void {
  const size = fs.statSync(file, { throwIfNoEntry: false })?.size ?? 0
  if (size < LIMITS.codex_news_bytes_max) return
  const lines = (readText(file) ?? '').split('\n')
  replaceFile(file, lines.slice(Math.floor(lines.length / 2)).join('\n'))
}

function newsIn(line: string): ThreadNews[] {
  const news = jsonAs(ThreadNews, line)
  return news === null ? [] : [news]
}
